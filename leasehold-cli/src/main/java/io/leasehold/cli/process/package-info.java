/**
 * Runs a command under a lease: its signals, its descendants, and its end before the lease's end.
 *
 * <p>Three mechanisms end a command whose lease is running out, each for the case that the one before it fails: {@link
 * io.leasehold.cli.process.LossWatch} in this process, in time for a clean end; {@link
 * io.leasehold.cli.process.Guardian}, a small shell process, if this process is stopped or killed; and the fencing token, if
 * the whole machine was paused.
 */
@NullMarked
package io.leasehold.cli.process;

import org.jspecify.annotations.NullMarked;
