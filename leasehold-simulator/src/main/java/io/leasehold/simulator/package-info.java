/**
 * The simulator: the real engine and the real quorum in a virtual world with all its kinds of faults; one seed
 * determines a run.
 *
 * <pre>{@code
 * SimulationReport report = Simulator.standard().run(1, 1_000);   // seeds 1 to 1,000
 * SimulationResult one = Simulator.standard().run(SimulationPlan.ofSeed(42));
 * SimulationPlan small = Simulator.standard().shrink(one.plan()); // as little of it as still fails
 * }</pre>
 *
 * <p>It makes no decision of the protocol: nodes are {@link io.leasehold.memory.InMemoryNode}, clients are those of
 * {@link io.leasehold.Leasehold}, and a {@link io.leasehold.simulator.SimulationPlan} determines the events.
 */
@NullMarked
package io.leasehold.simulator;

import org.jspecify.annotations.NullMarked;
