/**
 * The lock engine: pure machines decide, and a thin shell of timers, queues and futures performs their decisions.
 *
 * <p>Pure, with time as numbers: {@link io.leasehold.engine.AcquireMachine}, {@link io.leasehold.engine.GrantMachine},
 * {@link io.leasehold.engine.WaitPolicy}, {@link io.leasehold.engine.Timings}. Internal: not exported.
 */
@NullMarked
package io.leasehold.engine;

import org.jspecify.annotations.NullMarked;
