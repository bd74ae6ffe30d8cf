//! Tests of the simulator: the bytes that it writes, the traces of live play, and the sums of its right answers.

#[cfg(test)]
#[cfg(unix)]
mod hooks;
#[cfg(test)]
mod live;
#[cfg(test)]
mod program;
#[cfg(test)]
mod shape;
#[cfg(test)]
mod support;
#[cfg(test)]
mod world;
