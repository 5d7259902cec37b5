/** The chaos run: starts everything, injects faults at random, and lets the checkers judge the histories. */
@NullMarked
package io.leasehold.verify.chaos;

import org.jspecify.annotations.NullMarked;
