package io.leasehold.jdbc.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.jdbc.lease.StoreTime;
import io.leasehold.spi.LockRuntime;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
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

    private @Nullable BootOrigin at(long nanoTime) {
        LockRuntime still = (LockRuntime) Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {LockRuntime.class},
                (proxy, method, arguments) -> nanoTime);
        return BootOrigin.linux(still, proc);
    }

    @Test
    void aClockCountsFromTheBootIfItIsNotBelowZeroNorASecondAheadOfTheUptime() throws IOException {
        write("sys/kernel/random/boot_id", "b\n");
        write("uptime", "5.0 1.0\n");
        assertThat(at(-1)).isNull();
        assertThat(at(0)).isNotNull();
        assertThat(at(6_000_000_000L)).isNotNull();
        assertThat(at(6_000_000_001L)).isNull();
        write("sys/kernel/random/boot_id", "\n");
        assertThat(at(0)).as("without a name").isNull();
    }

    @Test
    void theClockOfABootIsWithoutTheOffsetOfItsNamespace() {
        MachineClock clock = new MachineClock(runtime, new BootOrigin("boot:b", 1_000));
        assertThat(clock.kind()).isEqualTo("boot");
        assertThat(clock.origin()).isEqualTo("boot:b");
        long beforeMillis = System.currentTimeMillis();
        StoreTime now = clock.read();
        assertThat(now.origin()).isEqualTo("boot:b");
        assertThat(now.nanos()).isEqualTo(now.readAtNanos() - 1_000);
        assertThat(now.wallMicros()).isBetween(beforeMillis * 1000, (beforeMillis + 60_000) * 1000);
        assertThat(new MachineClock(runtime, null).origin()).isEqualTo("wall");
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
