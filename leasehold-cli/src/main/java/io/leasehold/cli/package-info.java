/**
 * The command line: its invocation and its exit codes.
 *
 * <p>A thin layer over the public API; of the stores it names only the one over Jedis. {@code command} has one class per command, {@code process} runs
 * commands so that none of their processes survives the lease, {@code output} writes text and JSON. Other modules add commands
 * as {@link io.leasehold.cli.CommandProvider}.
 */
@NullMarked
package io.leasehold.cli;

import org.jspecify.annotations.NullMarked;
