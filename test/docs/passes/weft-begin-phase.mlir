// RUN: %doctest %s
// The program has passed `local` already; a phase is not run twice.
// options: phase=local
//--- before
// expected-error @below {{the program is at phase 'local', but what leads to 'local' begins at 'staged'}}
module attributes {weft.phase = "local"} {
}
