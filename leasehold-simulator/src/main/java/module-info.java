/**
 * Tools that test a store and the engine: the simulator, histories with their checkers, and a TCP proxy that injects
 * faults.
 */
module io.leasehold.simulator {
    requires transitive io.leasehold.testkit;
    requires org.slf4j;
    requires static org.jspecify;

    exports io.leasehold.simulator;
    exports io.leasehold.simulator.history;
    exports io.leasehold.simulator.proxy;
}
