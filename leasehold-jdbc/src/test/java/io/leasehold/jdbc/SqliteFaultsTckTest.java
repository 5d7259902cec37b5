package io.leasehold.jdbc;

import io.leasehold.LockName;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.testkit.tck.DutiesTck;
import io.leasehold.testkit.tck.FaultyFixture;
import io.leasehold.testkit.tck.GateFront;
import io.leasehold.testkit.tck.LeavingTck;
import io.leasehold.testkit.tck.SendingTck;
import io.leasehold.testkit.tck.StoreFront;
import io.leasehold.testkit.tck.TicketFaultsTck;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;

/**
 * The faults of the TCK over a real SQLite file: its thread pauses between two statements, and its disk fails once. The
 * holds of a killed process end with its life ({@link SqliteLifeTest}), so that part of the TCK is not here.
 */
@Tag("full")
class SqliteFaultsTckTest implements SendingTck, DutiesTck, LeavingTck, TicketFaultsTck {

    @TempDir
    private static Path directory;

    @Override
    public FaultyFixture fixture() {
        return new FaultyFixture() {
            @Override
            public String name() {
                return "sqlite";
            }

            @Override
            public LockStore open(LockRuntime runtime) {
                return SqliteStore.open(file(), runtime);
            }

            @Override
            public StoreFront front() {
                return GateFront.around(this::open, "leasehold-jdbc");
            }

            @Override
            public List<String> kept(LockName name) {
                return KeptRows.of(() -> DriverManager.getConnection("jdbc:sqlite:" + file()), name.text());
            }
        };
    }

    private static Path file() {
        return directory.resolve("faults.db");
    }
}
