package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.RenewReply;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.time.Duration;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Containers whose manager gives them a boot id of their own still share the kernel, and with it the clock and the
 * locks.
 */
@Tag("full")
@Timeout(180)
class SqliteMaskedBootTest {

    @TempDir
    private Path directory;

    @TempDir
    private Path scratch;

    private Path file() {
        return directory.resolve("locks.db");
    }

    private LeaseClient open() {
        return LeaseClient.open(runtime -> SqliteStore.open(file(), runtime));
    }

    /** Masks the boot id, as LXC and systemd-nspawn do. */
    private LeaseProcess masked() throws IOException, InterruptedException {
        Path boot = Files.writeString(scratch.resolve("boot_id"), "11111111-2222-3333-4444-555555555555\n");
        return LeaseProcess.openAmongOtherMounts(
                file(), scratch, "mount --bind '" + boot + "' /proc/sys/kernel/random/boot_id");
    }

    @Test
    void whatAProcessOfAnotherBootIdHoldsIsHeld() throws Exception {
        try (LeaseClient here = open();
                LeaseProcess there = masked()) {
            assertThat(there.tell("acquire", "x")).isEqualTo("Granted");
            OwnerToken owner = here.owner();
            assertThat(here.acquire(LeaseProcess.request("x", owner)))
                    .as("its life file is locked")
                    .isInstanceOf(AcquireReply.Busy.class);
            assertThat(here.store.admin().describe(LockName.exactly("x")).join())
                    .isPresent();
            assertThat(here.store.admin().list("*", 10).join()).hasSize(1);
            // A waiter is written into the row, and the holder still finds its own hold.
            assertThat(here.acquire(LeaseProcess.request("x", owner).waiting(1_000_000_000L)))
                    .isInstanceOf(AcquireReply.Queued.class);
            assertThat(there.tell("renew", "x")).isEqualTo("Renewed");
            assertThat(there.tell("release", "x")).isEqualTo("Released");
            assertThat(here.acquire(LeaseProcess.request("x", owner))).isInstanceOf(AcquireReply.Granted.class);
            assertThat(there.tell("acquire", "x")).as("and the other way round").isEqualTo("Busy");
            assertThat(there.tell("wait", "x")).isEqualTo("Queued");
            assertThat(here.renew("x", owner, LeaseClient.TTL)).isInstanceOf(RenewReply.Renewed.class);
        }
    }

    @Test
    void itsDeathFreesItAtOnce() throws Exception {
        try (LeaseClient here = open();
                LeaseProcess there = masked()) {
            assertThat(there.tell("acquire", "x")).isEqualTo("Granted");
            there.kill();
            assertThat(here.acquire("x", here.owner())).isInstanceOf(AcquireReply.Granted.class);
        }
    }

    /** Neither alive nor surely over: the children may live, so the ttl counts. */
    @Test
    void whatItsChildrenUseIsHeldUntilTheyHaveEnded() throws Exception {
        try (LeaseClient here = open();
                LeaseProcess there = masked()) {
            Path life = Path.of(there.tell("cover", "x"));
            assertThat(there.tell("acquire", "x")).isEqualTo("Granted");
            there.kill();
            assertThat(here.acquire("x", here.owner())).isInstanceOf(AcquireReply.Busy.class);
            Files.writeString(life, "e", StandardOpenOption.APPEND);
            assertThat(here.acquire("x", here.owner())).isInstanceOf(AcquireReply.Granted.class);
        }
    }

    @Test
    void itIsHeldUntilItsTtlIfItsLifeFileIsGone() throws Exception {
        try (LeaseClient here = open();
                LeaseProcess there = masked()) {
            assertThat(there.tell("acquire", "x")).isEqualTo("Granted");
            try (Stream<Path> files = Files.list(directory)) {
                for (Path life : files.filter(
                                path -> path.getFileName().toString().contains("-life-"))
                        .toList()) {
                    Files.delete(life);
                }
            }
            assertThat(here.acquire("x", here.owner())).isInstanceOf(AcquireReply.Busy.class);
        }
    }

    @Test
    void aForcedReleaseFindsIt() throws Exception {
        try (LeaseClient here = open();
                LeaseProcess there = masked()) {
            assertThat(there.tell("acquire", "x")).isEqualTo("Granted");
            assertThat(here.store
                            .admin()
                            .forceRelease(LockName.exactly("x"), null)
                            .join())
                    .isTrue();
            assertThat(there.tell("renew", "x")).isEqualTo("NotOurs");
        }
    }

    /** Otherwise `leasehold leaks` would report the client as gone. */
    @Test
    void whatItTellsOfItselfIsFound() throws Exception {
        LockOptions options = LockOptions.defaults().ttl(Duration.ofHours(1));
        try (LockClient there = Leasehold.builder()
                        .store("sqlite:" + file())
                        .defaults(options)
                        .connect();
                LockClient here = Leasehold.builder()
                        .store("sqlite:" + file())
                        .defaults(options)
                        .connect();
                Lease lease = there.named("x").acquire()) {
            long startAtNanos = System.nanoTime();
            while (here.admin().client(there.holderId()).isEmpty()) {
                assertThat(System.nanoTime() - startAtNanos).isLessThan(60_000_000_000L);
            }
            try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + file() + "?busy_timeout=20000");
                    Statement statement = connection.createStatement()) {
                statement.execute("UPDATE leasehold_client SET origin = 'boot:other'");
                assertThat(here.admin().client(there.holderId())).isPresent();
                try (Lease own = here.named("y").acquire()) {
                    // A client's first record deletes the expired ones.
                    while (here.admin().client(here.holderId()).isEmpty()) {
                        assertThat(System.nanoTime() - startAtNanos).isLessThan(60_000_000_000L);
                    }
                    assertThat(own.isValid()).isTrue();
                }
                assertThat(here.admin().client(there.holderId())).isPresent();
                statement.execute("UPDATE leasehold_client SET expires_at = expires_at + 86400000000000");
                statement.execute("UPDATE leasehold_client SET origin = 'boot:earlier'");
                assertThat(here.admin().client(there.holderId()))
                        .as("days ahead: of an earlier boot")
                        .isEmpty();
            }
            assertThat(lease.isValid()).isTrue();
        }
    }
}
