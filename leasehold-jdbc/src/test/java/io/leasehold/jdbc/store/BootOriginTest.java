package io.leasehold.jdbc.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.jdbc.dialect.H2Dialect;
import io.leasehold.jdbc.lease.StoreTime;
import io.leasehold.spi.LockRuntime;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.UUID;
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

    private LockRuntime still(long nanoTime) {
        return (LockRuntime) Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {LockRuntime.class},
                (proxy, method, arguments) -> nanoTime);
    }

    private @Nullable BootOrigin at(long nanoTime) {
        return BootOrigin.linux(still(nanoTime), proc);
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

    private static @Nullable BootOrigin said(String script) {
        assumeTrue(Files.isExecutable(Path.of("/bin/sh")), "needs a shell");
        return BootOrigin.mac("/bin/sh", "-c", script);
    }

    /** Replaces sysctl, which exists only on macOS. */
    @Test
    void aCommandTellsTheBootIfItEndsWellAndSaysSomething() {
        assertThat(said("echo ' 7F-A '")).isEqualTo(new BootOrigin("boot:7F-A", 0));
        assertThat(said("true")).isNull();
        assertThat(said("echo 7F-A; exit 1")).isNull();
        assertThat(said("echo no such name >&2; exit 1")).isNull();
        assertThat(said("cat")).as("it is given nothing to read").isNull();
        assertThat(BootOrigin.mac(proc.resolve("no command").toString())).isNull();
    }

    /** Otherwise this process would use the wall clock, and its neighbours the boot. */
    @Test
    void anInterruptedThreadIsToldTheBootToo() {
        Thread.currentThread().interrupt();
        BootOrigin boot = said("echo 7F-A; exec >&- 2>&-; sleep 0.3");
        assertThat(Thread.interrupted()).as("the interrupt is kept").isTrue();
        assertThat(boot).isEqualTo(new BootOrigin("boot:7F-A", 0));
    }

    @Test
    void aClockIsReadTheSameWithAndWithoutATable() throws Exception {
        MachineClock clock = new MachineClock(still(5), new BootOrigin("boot:b", 2));
        try (VerbsBench bench = new VerbsBench(H2Dialect.dialect(), "jdbc:h2:mem:" + UUID.randomUUID())) {
            StoreTime expected = new StoreTime("boot:b", 3, 5_000, 5);
            assertThat(clock.read()).isEqualTo(expected);
            assertThat(clock.read(bench.table)).isEqualTo(expected);
            assertThat(clock.readBehindRows(bench.table, 1)).isEqualTo(expected);
        }
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
