package io.leasehold.jdbc.sqlite;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.LockStoreException;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.jdbc.dialect.SqlTrouble;
import java.io.IOException;
import java.net.URI;
import java.nio.file.FileSystem;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.SQLException;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Files that are accepted as a lock file, and files that are refused, with the reason. */
@Tag("quick")
class LockFileTest {

    @TempDir
    private Path directory;

    private static FileSystems of(String type) {
        return existing -> type;
    }

    private Path path() {
        return directory.resolve("locks.db");
    }

    private void assertRefused(Path path, FileSystems of, Class<? extends LockStoreException> type, String... words) {
        assertThatThrownBy(() -> new LockFile(path, of).prepare())
                .isInstanceOf(type)
                .hasMessageContaining("lock file " + path + " ")
                .hasMessageContainingAll(words);
    }

    @Test
    void aFileAndItsDirectoriesAreMadeForTheirUserAloneAndUsedAsTheyAreAfterwards() throws IOException {
        Path file = directory.resolve("a/b/locks.db");
        LockFile made = new LockFile(file, of("ext4"));
        made.prepare();
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
                .isEqualTo("rw-------");
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file.getParent())))
                .isEqualTo("rwx------");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-rw----"));
        made.prepare();
        Path like = Files.createFile(directory.resolve("like"), LockFile.attributesLike(file));
        assertThat(Files.getPosixFilePermissions(like)).containsAll(PosixFilePermissions.fromString("rw-------"));
        assertThat(LockFile.attributesLike(file)).hasSize(1);
    }

    @Test
    void whatIsNoFileIsRefused() throws IOException {
        assertRefused(directory, of("ext4"), StoreUnavailableException.class, "is a directory");
        assertRefused(Path.of("/"), of("ext4"), StoreUnavailableException.class, "is a directory");
        Path file = Files.createFile(directory.resolve("file"));
        assertRefused(file.resolve("x.db"), of("ext4"), StoreUnavailableException.class, "cannot be created");
        Path nowhere = Files.createSymbolicLink(directory.resolve("link"), directory.resolve("missing"));
        assertRefused(nowhere, of("ext4"), StoreUnavailableException.class, "is not a file");
    }

    @Test
    void whereOthersMayNotSeeTheLocksIsRefusedBeforeAnythingIsMade() throws IOException {
        assertRefused(path(), of("nfs4"), UnsafeStoreException.class, "type nfs4", "other machines may share");
        assertRefused(path(), of("fuse.bindfs"), UnsafeStoreException.class, "type fuse.bindfs", "another path");
        assertThat(path()).doesNotExist();
        FileSystems ofTheFile = existing -> existing.endsWith("locks.db") ? "cifs" : "ext4";
        assertRefused(path(), ofTheFile, UnsafeStoreException.class, "type cifs");
        FileSystems mounted = new FileSystems() {
            @Override
            public String typeOf(Path existing) {
                return "ext4";
            }

            @Override
            public boolean isMountPoint(Path file) {
                return true;
            }
        };
        assertRefused(path(), mounted, UnsafeStoreException.class, "is mounted as a single file");
        Files.createLink(directory.resolve("second"), path());
        assertRefused(path(), of("ext4"), UnsafeStoreException.class, "has 2 names (hard links)");
    }

    @Test
    void whatCannotBeLookedAtIsUnavailable() {
        FileSystems unreadable = existing -> {
            throw new IOException("the mounts cannot be read");
        };
        assertRefused(
                path(), unreadable, StoreUnavailableException.class, "cannot be created: the mounts cannot be read");
        FileSystems later = existing -> {
            if (existing.endsWith("locks.db")) {
                throw new IOException("the mounts cannot be read");
            }
            return "ext4";
        };
        assertRefused(path(), later, StoreUnavailableException.class, "cannot be looked at: the mounts cannot be read");
    }

    @Test
    void whatAnErrorMeansIsSaidInOneLine() {
        LockFile file = new LockFile(path(), of("ext4"));
        SQLException e = new SQLException("first line\nsecond line");
        for (SqlTrouble trouble : SqlTrouble.values()) {
            LockStoreException told = file.refusal(trouble, e);
            assertThat(told)
                    .hasMessageContaining("(first line)")
                    .hasMessageStartingWith("lock file ")
                    .hasCause(e);
            boolean access = trouble == SqlTrouble.ACCESS || trouble == SqlTrouble.READ_ONLY;
            assertThat(told).isInstanceOf(access ? StoreAccessException.class : StoreUnavailableException.class);
        }
        assertThat(file.refusal(SqlTrouble.DAMAGED, e)).hasMessageContaining("is damaged");
        assertThat(file.refusal(SqlTrouble.CONTENTION, e)).hasMessageContaining("stayed locked");
        assertThat(file.refusal(SqlTrouble.OTHER, new SQLException("one line"))).hasMessageContaining("(one line)");
    }

    /** As on Windows, where the directory determines the access to a file. */
    @Test
    void whereTheFileSystemHasNoPermissionsNoneAreSetAndNoneAskedFor() throws IOException {
        URI archive = URI.create("jar:" + directory.resolve("disk.zip").toUri());
        try (FileSystem without = java.nio.file.FileSystems.newFileSystem(archive, Map.of("create", "true"))) {
            assertThat(without.supportedFileAttributeViews()).doesNotContain("posix", "unix");
            Path file = without.getPath("/a/b/locks.db");
            new LockFile(file, of("ntfs")).prepare();
            new LockFile(file, of("ntfs")).prepare();
            assertThat(Files.isRegularFile(file)).isTrue();
            assertThat(LockFile.attributesLike(file)).isEmpty();
        }
    }
}
