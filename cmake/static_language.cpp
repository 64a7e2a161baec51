// SPDX-License-Identifier: Apache-2.0
// Nothing: shows CMake that the static library, else an object of unknown origin, is written in
// C++.
