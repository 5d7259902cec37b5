/**
 * The command line: what it is started with and how it ends.
 *
 * <p>A thin product over the public API; it knows no store. {@code command} has one class per verb, {@code process}
 * runs commands so that nothing of them survives the lease, {@code output} writes for people and for scripts. Other
 * modules add commands as {@link io.leasehold.cli.CommandProvider}.
 */
@NullMarked
package io.leasehold.cli;

import org.jspecify.annotations.NullMarked;
