package io.leasehold.jdbc.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.jdbc.dialect.SqliteDialect;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A holder may die at any moment, even while it is being checked. */
@Tag("quick")
class DyingHolderTest {

    @TempDir
    private Path directory;

    /** Each process is seen alive once, and is dead at the next check. */
    private static final class Dying implements Lives {

        private final Map<String, Integer> asked = new HashMap<>();

        @Override
        public String own() {
            return "own";
        }

        @Override
        public State stateOf(String life) {
            return asked.merge(life, 1, Integer::sum) == 1 ? State.ALIVE : State.OVER;
        }

        @Override
        public void sweep(Set<String> named) {}

        @Override
        public void close() {}
    }

    @Test
    void aHolderThatDiesWhileLocksAreListedIsListedOrNot() throws Exception {
        VirtualRuntime runtime = VirtualRuntime.seeded(1);
        try (VerbsBench bench =
                new VerbsBench(SqliteDialect.dialect(true), "jdbc:sqlite:" + directory.resolve("t.db"))) {
            for (String name : List.of("a", "b")) {
                bench.table.insert(
                        bench.row(name, bench.held(VerbsBench.ANN, VerbsBench.TTL, "life of " + name), null));
            }
            StoreSettings of = bench.settings;
            LeaseTableStore store = LeaseTableStore.start(
                    new StoreSettings(
                            of.description(),
                            of.dialect(),
                            of.guarantees(),
                            of.clock(),
                            of.schema(),
                            of.connections(),
                            of.spare(),
                            new Dying(),
                            of.retention()),
                    runtime);
            CompletableFuture<List<HeldLock>> first = store.admin().list("*", 10);
            runtime.runFor(Duration.ofMillis(10));
            assertThat(first.join()).extracting(record -> record.name().text()).containsExactly("a", "b");
            CompletableFuture<List<HeldLock>> second = store.admin().list("*", 10);
            runtime.runFor(Duration.ofMillis(10));
            assertThat(second.join()).isEmpty();
            store.close();
        }
    }
}
