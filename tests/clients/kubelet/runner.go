package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	osexec "os/exec"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

// runner runs commands on this machine in place of a container.
type runner struct{}

// ExecInContainer runs a command. With a terminal it is told its sizes: the first one is written out.
func (runner) ExecInContainer(ctx context.Context, _, _, _ string, words []string, in io.Reader, out, errs io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize, _ time.Duration) error {
	if tty {
		select {
		case size := <-resize:
			fmt.Fprintf(out, "%dx%d\n", size.Width, size.Height)
		case <-time.After(30 * time.Second):
			fmt.Fprintln(out, "no size")
		}
	}
	if len(words) == 0 {
		return errors.New("there is no command")
	}
	if words[0] == "fail" {
		return errors.New("the runtime is out of order")
	}
	command := osexec.CommandContext(ctx, words[0], words[1:]...)
	command.Stdin = in
	if out != nil {
		command.Stdout = out
	}
	if errs != nil {
		command.Stderr = errs
	}
	command.WaitDelay = time.Second
	err := command.Run()
	fmt.Fprintln(os.Stderr, "exec", words[0], "ended:", err)
	var exit *osexec.ExitError
	if errors.As(err, &exit) {
		return utilexec.CodeExitError{Err: err, Code: exit.ExitCode()}
	}
	return err
}

// AttachContainer greets, then says back what it is told.
func (runner) AttachContainer(_ context.Context, name, _, container string, in io.Reader, out, errs io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize) error {
	fmt.Fprintf(out, "attached to %s %s\n", name, container)
	if errs != nil {
		fmt.Fprintln(errs, "and its errors")
	}
	if in != nil {
		_, err := io.Copy(out, in)
		return err
	}
	return nil
}

// PortForward connects to a port of this machine.
func (runner) PortForward(_ context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	connection, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	defer connection.Close()
	done := make(chan struct{}, 2)
	go func() {
		_, _ = io.Copy(connection, stream)
		_ = connection.(*net.TCPConn).CloseWrite()
		done <- struct{}{}
	}()
	go func() {
		_, _ = io.Copy(stream, connection)
		done <- struct{}{}
	}()
	<-done
	<-done
	return nil
}
