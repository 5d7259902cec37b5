package io.leasehold.jdbc.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.jdbc.lease.StoreTime;
import io.leasehold.spi.LockRuntime;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("quick")
class BootOriginTest {

    private final LockRuntime runtime = new SystemLockRuntime();

    @TempDir
    private Path proc;

    @AfterEach
    void closeRuntime() {
        runtime.close();
    }

    private void write(String file, String text) throws IOException {
        Path path = proc.resolve(file);
        Files.createDirectories(path.getParent());
        Files.writeString(path, text);
    }

    @Test
    void thisMachineHasOne() {
        assumeTrue(Files.exists(Path.of("/proc/sys/kernel/random/boot_id")), "needs Linux");
        assertThat(BootOrigin.find(runtime)).isNotNull().isEqualTo(BootOrigin.find(runtime));
    }

    @Test
    void aTimeNamespaceShiftsTheClockByItsOffset() throws IOException {
        write("sys/kernel/random/boot_id", "b\n");
        write("uptime", "99999999999.5 1.0\n");
        write("self/timens_offsets", "monotonic           3         500\nboottime            7         0\n");
        assertThat(BootOrigin.linux(runtime, proc)).isEqualTo(new BootOrigin("boot:b", 3_000_000_500L));
        write("self/timens_offsets", "monotonic          -3         500\nboottime            7         0\n");
        assertThat(BootOrigin.linux(runtime, proc)).isEqualTo(new BootOrigin("boot:b", -2_999_999_500L));
    }

    @Test
    void withoutTimeNamespacesThereIsNoOffset() throws IOException {
        write("sys/kernel/random/boot_id", "b\n");
        write("uptime", "99999999999.5 1.0\n");
        assertThat(BootOrigin.linux(runtime, proc)).isEqualTo(new BootOrigin("boot:b", 0));
    }

    @Test
    void aClockThatIsAheadOfTheUptimeDoesNotCountFromTheBoot() throws IOException {
        write("sys/kernel/random/boot_id", "b\n");
        write("uptime", "0.0 0.0\n");
        assumeTrue(runtime.nanoTime() > 2_000_000_000L, "this machine was just booted");
        assertThat(BootOrigin.linux(runtime, proc)).isNull();
    }

    @Test
    void withoutProcThereIsNone() {
        assertThat(BootOrigin.linux(runtime, proc)).isNull();
    }

    @Test
    void withoutABootTheWallClockCounts() {
        MachineClock clock = new MachineClock(runtime, null);
        assertThat(clock.kind()).isEqualTo("wall");
        StoreTime now = clock.read();
        assertThat(now.nanos() / 1000).isEqualTo(now.wallMicros());
    }
}
