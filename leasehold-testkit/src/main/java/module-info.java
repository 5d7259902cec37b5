/** Tools for the tests of users and authors of stores: a virtual clock, faults, the TCK of stores. */
module io.leasehold.testkit {
    requires transitive io.leasehold.core;
    requires transitive org.junit.jupiter.api;
    requires org.slf4j;
    requires static transitive java.sql;
    requires static org.jspecify;

    exports io.leasehold.testkit.process;
    exports io.leasehold.testkit.tck;
    exports io.leasehold.testkit.virtual;
}
