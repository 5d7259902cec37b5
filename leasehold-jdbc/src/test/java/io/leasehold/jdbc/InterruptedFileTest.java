package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.StoreUnavailableException;
import io.leasehold.engine.SystemLockRuntime;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A thread that opens a file locked by another process reacts to an interrupt, and stays interrupted. */
@Tag("quick")
@Timeout(60)
class InterruptedFileTest {

    @TempDir
    private Path directory;

    @Test
    void theInterruptEndsTheOpeningAndIsKept() throws Exception {
        Path file = directory.resolve("locks.db");
        SystemLockRuntime runtime = new SystemLockRuntime();
        try (Connection other = DriverManager.getConnection("jdbc:sqlite:" + file);
                Statement statement = other.createStatement()) {
            statement.execute("BEGIN EXCLUSIVE");
            Thread.currentThread().interrupt();
            assertThatThrownBy(() -> SqliteStore.open(file, runtime))
                    .isInstanceOf(StoreUnavailableException.class)
                    .hasMessageContainingAll("interrupted", file.toString());
            assertThat(Thread.interrupted()).isTrue();
        } finally {
            Thread.interrupted();
            runtime.close();
        }
    }
}
