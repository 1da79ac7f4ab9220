//! The tests of the core are in the folders beside this file.
