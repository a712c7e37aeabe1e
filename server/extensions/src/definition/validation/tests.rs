//! Tables of what is wrong with definitions.
