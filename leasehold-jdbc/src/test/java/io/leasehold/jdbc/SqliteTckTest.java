package io.leasehold.jdbc;

import io.leasehold.jdbc.sqlite.FileSystems;
import io.leasehold.jdbc.sqlite.Synchronous;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.testkit.tck.BackendTck;
import io.leasehold.testkit.tck.StoreFixture;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;

/** The backend contract over a real SQLite file. */
@Tag("quick")
class SqliteTckTest implements BackendTck {

    @TempDir
    private static Path directory;

    @Override
    public StoreFixture fixture() {
        return new StoreFixture() {
            @Override
            public String name() {
                return "sqlite";
            }

            @Override
            public LockStore open(LockRuntime runtime) {
                return SqliteStore.open(file(), runtime);
            }

            @Override
            public LockStore openForgetful(LockRuntime runtime) {
                return SqliteStore.open(file(), Synchronous.NORMAL, FileSystems.real(), runtime, Duration.ZERO, true);
            }

            @Override
            public boolean noticesDeath() {
                return true;
            }

            @Override
            public String uriForOtherProcesses() {
                return "sqlite:" + file();
            }
        };
    }

    private static Path file() {
        return directory.resolve("tck.db");
    }
}
