/**
 * Histories of the beliefs of lock holders and of the accesses to a protected resource, and checkers that judge them.
 *
 * <p>Each process writes its own file ({@link io.leasehold.simulator.history.HistoryFile}); the files are merged
 * ({@link io.leasehold.simulator.history.History}); {@link io.leasehold.simulator.history.OverlapChecker}, {@link
 * io.leasehold.simulator.history.TokenChecker} and {@link io.leasehold.simulator.history.LostUpdateChecker} read
 * nothing else. All times are of one monotonic clock: on Linux, {@code System.nanoTime()} is one clock for the whole
 * machine, and a virtual world has one, too.
 *
 * <pre>{@code
 * History history = History.read(List.of(Path.of("w1.history"), Path.of("w2.history")));
 * assertEquals(List.of(), OverlapChecker.check(history));
 * }</pre>
 */
@NullMarked
package io.leasehold.simulator.history;

import org.jspecify.annotations.NullMarked;
