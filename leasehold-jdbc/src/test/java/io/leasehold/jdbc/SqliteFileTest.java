package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.jdbc.sqlite.FileSystems;
import io.leasehold.jdbc.sqlite.Synchronous;
import io.leasehold.jdbc.store.StoreSettings;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.RenewReply;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The file of an SQLite store: its creation, the files that are refused, and changes of the file while a store uses it.
 */
@Tag("quick")
class SqliteFileTest {

    @TempDir
    private Path directory;

    private static LeaseClient open(Path file) {
        return LeaseClient.open(runtime -> SqliteStore.open(file, runtime));
    }

    private static LockStoreException refusal(Path file) {
        try (LeaseClient client = open(file)) {
            throw new AssertionError(client.store.description() + " was opened");
        } catch (LockStoreException e) {
            assertThat(e.getMessage()).as("one line").doesNotContain("\n").contains(file.toString());
            return e;
        }
    }

    private static void assertUsable(LeaseClient client, String name) {
        OwnerToken owner = client.owner();
        client.granted(name, owner);
        client.release(name, owner);
    }

    @Test
    void theFileAndItsDirectoriesAreMadeForTheirUserAlone() throws IOException {
        assumeTrue(
                directory.getFileSystem().supportedFileAttributeViews().contains("posix"), "needs POSIX permissions");
        Path file = directory.resolve("one/two/locks.db");
        try (LeaseClient client = open(file)) {
            assertUsable(client, "x");
            assertThat(permissions(file)).isEqualTo("rw-------");
            assertThat(permissions(file.getParent())).isEqualTo("rwx------");
            assertThat(permissions(file.getParent().getParent())).isEqualTo("rwx------");
            assertThat(permissions(file.resolveSibling("locks.db-wal"))).isEqualTo("rw-------");
        }
    }

    private static String permissions(Path path) throws IOException {
        return PosixFilePermissions.toString(Files.getPosixFilePermissions(path));
    }

    @Test
    void anEmptyFileIsTaken() throws IOException {
        Path file = Files.createFile(directory.resolve("empty.db"));
        try (LeaseClient client = open(file)) {
            assertUsable(client, "x");
        }
    }

    /** Between two steps of creating the file, another process may have created it. */
    @Test
    void manyWhoMakeTheFileAtOnceAllTakeIt() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try {
            for (int round = 0; round < 100; round++) {
                Path file = directory.resolve("new-" + round);
                CyclicBarrier together = new CyclicBarrier(4);
                List<Future<?>> opened = new ArrayList<>();
                for (int i = 0; i < 4; i++) {
                    opened.add(threads.submit(() -> {
                        together.await();
                        open(file).close();
                        return null;
                    }));
                }
                for (Future<?> one : opened) {
                    one.get();
                }
            }
        } finally {
            threads.shutdownNow();
        }
    }

    @Test
    void aDirectoryIsRefused() {
        assertThat(refusal(directory))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("is a directory");
    }

    @Test
    void aFileInPlaceOfADirectoryIsRefused() throws IOException {
        Path file = Files.createFile(directory.resolve("file")).resolve("locks.db");
        assertThat(refusal(file))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("cannot be created");
    }

    @Test
    void rubbishIsRefusedAndLeftAlone() throws IOException {
        Path file = directory.resolve("rubbish.db");
        Files.writeString(file, "this is no database ".repeat(500));
        byte[] before = Files.readAllBytes(file);
        assertThat(refusal(file))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("damaged or not an SQLite database");
        assertThat(Files.readAllBytes(file)).isEqualTo(before);
    }

    @Test
    void aDamagedFileIsReportedAndNothingIsGranted() throws Exception {
        Path file = directory.resolve("damaged.db");
        try (LeaseClient client = open(file)) {
            for (int i = 0; i < 200; i++) {
                assertUsable(client, "lock-" + i);
            }
        }
        byte[] bytes = Files.readAllBytes(file);
        for (int i = 100; i < bytes.length; i++) {
            bytes[i] = (byte) (i * 31);
        }
        Files.write(file, bytes);
        assertThat(refusal(file)).isInstanceOf(StoreUnavailableException.class).hasMessageContaining("damaged");
    }

    @Test
    void aDatabaseOfSomethingElseIsRefusedAndLeftAlone() throws SQLException {
        Path file = directory.resolve("app.db");
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + file);
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE customers (id INTEGER)");
        }
        assertThat(refusal(file))
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContaining("of another application");
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + file);
                Statement statement = connection.createStatement()) {
            assertThat(statement.executeQuery("PRAGMA journal_mode").getString(1))
                    .isEqualTo("delete");
            assertThat(statement
                            .executeQuery("SELECT count(*) FROM sqlite_master")
                            .getInt(1))
                    .isEqualTo(1);
        }
    }

    @Test
    void anotherSchemaVersionIsRefused() throws SQLException {
        Path file = directory.resolve("newer.db");
        open(file).close();
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + file);
                Statement statement = connection.createStatement()) {
            statement.execute("UPDATE leasehold_store SET schema_version = 3");
        }
        assertThat(refusal(file)).isInstanceOf(UnsafeStoreException.class).hasMessageContaining("version 3");
    }

    @Test
    void aFileThatMayNotBeWrittenIsRefused() throws IOException {
        Path file = directory.resolve("readonly.db");
        open(file).close();
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("r--r--r--"));
        assumeFalse(Files.isWritable(file), "this user may write everything, so nothing can be refused to it");
        assertThat(refusal(file))
                .isInstanceOf(StoreAccessException.class)
                .hasMessageContaining("not readable and writable");
    }

    @Test
    void aDirectoryThatMayNotBeWrittenIsRefused() throws IOException {
        Path closed = Files.createDirectory(directory.resolve("closed"));
        Files.setPosixFilePermissions(closed, PosixFilePermissions.fromString("r-xr-xr-x"));
        assumeFalse(Files.isWritable(closed), "this user may write everything, so nothing can be refused to it");
        assertThat(refusal(closed.resolve("locks.db")))
                .isInstanceOf(StoreAccessException.class)
                .hasMessageContaining("has no permission for " + closed);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "nfs",
                "nfs4",
                "cifs",
                "smb3",
                "fuse.sshfs",
                "9p",
                "virtiofs",
                "fakeowner",
                "fuse",
                "fuse.bindfs",
                "fuse.mergerfs",
                "fuse.encfs",
                "fuse.gocryptfs",
                "fuse.securefs",
                "fuse.unheard-of",
                "macfuse",
                "ecryptfs"
            })
    void sharedFileSystemsAreRefusedBeforeAnythingIsMadeThere(String type) {
        Path file = directory.resolve("locks.db");
        FileSystems mounted = existing -> type;
        assertThatThrownBy(() -> LeaseClient.open(runtime ->
                        SqliteStore.open(file, Synchronous.NORMAL, mounted, runtime, StoreSettings.RETENTION, true)))
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContainingAll(file.toString(), type, "local disk");
        assertThat(file).doesNotExist();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "ext4",
                "xfs",
                "btrfs",
                "overlay",
                "tmpfs",
                "apfs",
                "NTFS",
                "zfs",
                "fuseblk",
                "fuse.fuse-overlayfs"
            })
    void localFileSystemsAreTaken(String type) {
        assertThat(FileSystems.isNetwork(type)).isFalse();
        assertThat(FileSystems.mayBeASecondView(type)).isFalse();
    }

    /** The directory of the link does not show where the file is. */
    @Test
    void aLinkToARefusedFileSystemIsRefused() throws IOException {
        Path elsewhere = Files.createDirectory(directory.resolve("elsewhere"));
        Path link = Files.createSymbolicLink(directory.resolve("locks.db"), elsewhere.resolve("real.db"));
        Files.createFile(elsewhere.resolve("real.db"));
        FileSystems mounted = existing -> existing.startsWith(elsewhere) ? "nfs4" : "ext4";
        assertThatThrownBy(() -> LeaseClient.open(runtime ->
                        SqliteStore.open(link, Synchronous.NORMAL, mounted, runtime, StoreSettings.RETENTION, true)))
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContainingAll(link.toString(), "nfs4");
    }

    @Test
    void aFileThatIsDeletedIsMadeAnewAndItsHoldsAreLost() throws IOException {
        Path file = directory.resolve("deleted.db");
        try (LeaseClient first = open(file);
                LeaseClient second = open(file)) {
            OwnerToken owner = first.owner();
            AcquireReply.Granted before = first.granted("x", owner);
            for (String suffix : new String[] {"", "-wal", "-shm"}) {
                Files.deleteIfExists(file.resolveSibling("deleted.db" + suffix));
            }
            AcquireReply.Granted after = second.granted("x", second.owner());
            assertThat(after.grant().incarnation()).isNotEqualTo(before.grant().incarnation());
            assertThat(after.grant().tokens().first())
                    .isGreaterThan(before.grant().tokens().last());
            assertThat(first.renew("x", owner, LeaseClient.TTL)).isInstanceOf(RenewReply.NotOurs.class);
        }
    }

    @Test
    void aFileThatBecomesRubbishWhileOpenFailsRequestsWithOneLine() throws IOException {
        Path file = directory.resolve("replaced.db");
        try (LeaseClient client = open(file)) {
            assertUsable(client, "x");
            Path rubbish = directory.resolve("rubbish");
            Files.writeString(rubbish, "no database ".repeat(1000));
            Files.move(rubbish, file, StandardCopyOption.REPLACE_EXISTING);
            Files.deleteIfExists(file.resolveSibling("replaced.db-wal"));
            Files.deleteIfExists(file.resolveSibling("replaced.db-shm"));
            assertThat(client.acquire("x", client.owner()))
                    .isInstanceOfSatisfying(AcquireReply.Failed.class, failed -> {
                        assertThat(failed.kind()).isNotEqualTo(FailureKind.UNKNOWN);
                        assertThat(failed.error().getMessage())
                                .contains(file.toString())
                                .doesNotContain("\n");
                    });
        }
    }

    /** A separate small file system, which only root can mount. */
    @Test
    void aFullDiskFailsRequestsWithoutEffectAndPassesWhenThereIsRoom() throws Exception {
        Path mount = Files.createDirectory(directory.resolve("small"));
        assumeTrue(
                run("mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", mount.toString()),
                "may not mount a small disk");
        try {
            Path ballast = mount.resolve("ballast");
            try (LeaseClient client = open(mount.resolve("locks.db"))) {
                OwnerToken owner = client.owner();
                client.granted("held", owner);
                fill(ballast);
                AcquireReply.Failed failed = firstFailure(client);
                assertThat(failed.kind()).isEqualTo(FailureKind.NO_EFFECT);
                assertThat(failed.error())
                        .isInstanceOf(StoreUnavailableException.class)
                        .hasMessageContaining("no space left")
                        .hasMessageNotContaining("\n");
                Files.delete(ballast);
                assertUsable(client, "after");
                assertThat(client.renew("held", owner, LeaseClient.TTL)).isInstanceOf(RenewReply.Renewed.class);
            }
        } finally {
            run("umount", "-l", mount.toString());
        }
    }

    private static AcquireReply.Failed firstFailure(LeaseClient client) {
        for (int i = 0; i < 10_000; i++) {
            if (client.acquire("lock-" + "x".repeat(900) + i, client.owner()) instanceof AcquireReply.Failed failed) {
                return failed;
            }
        }
        throw new AssertionError("10,000 rows fitted on a full disk");
    }

    private static void fill(Path ballast) throws IOException {
        byte[] block = "x".repeat(4096).getBytes(StandardCharsets.UTF_8);
        try (var out = Files.newOutputStream(ballast)) {
            while (true) {
                out.write(block);
            }
        } catch (IOException e) {
            assertThat(e).hasMessageContaining("space");
        }
    }

    private static boolean run(String... command) throws IOException, InterruptedException {
        try {
            Process process =
                    new ProcessBuilder(command).redirectErrorStream(true).start();
            process.getInputStream().readAllBytes();
            return process.waitFor(30, TimeUnit.SECONDS) && process.exitValue() == 0;
        } catch (IOException e) {
            return false;
        }
    }

    @Test
    void aLockedDatabaseKeepsTimeLimitsAndThenNothingIsLeftBehind() throws Exception {
        Path file = directory.resolve("locked.db");
        try (LeaseClient client = open(file);
                Connection other = DriverManager.getConnection("jdbc:sqlite:" + file);
                Statement statement = other.createStatement()) {
            statement.execute("BEGIN IMMEDIATE");
            OwnerToken owner = client.owner();
            AcquireRequest request = AcquireRequest.exclusive(
                    List.of(LockName.exactly("x")),
                    owner,
                    "test",
                    LeaseClient.TTL.toNanos(),
                    Duration.ofMillis(200).toNanos());
            CompletableFuture<AcquireReply> queued = client.store.acquire(request);
            CompletableFuture<AcquireReply> behind = client.store.acquire(request.seenToken(1));
            assertThat(queued.get(10, TimeUnit.SECONDS)).isInstanceOfSatisfying(AcquireReply.Failed.class, failed -> {
                assertThat(failed.kind()).isEqualTo(FailureKind.NO_EFFECT);
                assertThat(failed.error()).hasMessageContainingAll("200 ms", "[x]", file.toString());
            });
            assertThat(behind.get(10, TimeUnit.SECONDS)).isInstanceOf(AcquireReply.Failed.class);
            statement.execute("ROLLBACK");
            assertThat(client.store.admin().describe(LockName.exactly("x")).join())
                    .as("what was taken back is never carried out")
                    .isEmpty();
            assertUsable(client, "x");
        }
    }

    @Test
    void aDatabaseThatStaysLockedCannotBeOpened() throws Exception {
        Path file = directory.resolve("busy.db");
        try (Connection other = DriverManager.getConnection("jdbc:sqlite:" + file);
                Statement statement = other.createStatement()) {
            statement.execute("BEGIN EXCLUSIVE");
            assertThat(refusal(file))
                    .isInstanceOf(StoreUnavailableException.class)
                    .hasMessageContaining("stayed locked by another process");
        }
    }

    @Test
    void fullSynchronousIsAnOption() {
        Path file = directory.resolve("full.db");
        try (LeaseClient client = LeaseClient.open(runtime ->
                SqliteStore.open(file, Synchronous.FULL, FileSystems.real(), runtime, StoreSettings.RETENTION, true))) {
            assertUsable(client, "x");
        }
    }
}
