package io.leasehold.shedlock;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;

@Tag("full")
class SqliteShedLockTest extends LongTtlShedLockTest {

    @TempDir
    private static Path directory;

    @Override
    LockClient connect() {
        return Leasehold.connect("jdbc:sqlite:" + directory.resolve("locks.db"));
    }
}
