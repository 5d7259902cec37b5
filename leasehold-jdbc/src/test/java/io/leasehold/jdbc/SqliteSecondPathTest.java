package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.leasehold.spi.AcquireReply;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** One lock file by two paths: either both exclude each other, or the second is refused. */
@Tag("full")
@Timeout(180)
class SqliteSecondPathTest {

    @TempDir
    private Path directory;

    @TempDir
    private Path scratch;

    private Path file;
    private Path second;

    @BeforeEach
    void makeDirectories() throws IOException {
        file = Files.createDirectory(directory.resolve("first")).resolve("locks.db");
        second = Files.createDirectory(directory.resolve("second")).resolve("locks.db");
    }

    private interface Opener {
        LeaseProcess open() throws IOException, InterruptedException;
    }

    /** The reply to another process that requests, by the other path, a lock that the first process holds. */
    private String answer(Opener opener) throws IOException, InterruptedException {
        try (LeaseClient here = LeaseClient.open(runtime -> SqliteStore.open(file, runtime))) {
            assertThat(here.acquire(LeaseProcess.request("x", here.owner()))).isInstanceOf(AcquireReply.Granted.class);
            try (LeaseProcess there = opener.open()) {
                return there.opened().equals("store open") ? there.tell("acquire", "x") : there.opened();
            }
        }
    }

    private String amongMounts(String mounts) throws IOException, InterruptedException {
        return answer(() -> LeaseProcess.openAmongOtherMounts(second, scratch, mounts));
    }

    @Test
    void aHardLinkIsRefused() throws Exception {
        String answer = answer(() -> {
            Files.createLink(second, file);
            return LeaseProcess.open(second);
        });
        assertThat(answer).contains("refused UnsafeStoreException", second.toString(), "2 names", "samefile");
        Files.delete(second);
        try (LeaseProcess again = LeaseProcess.open(file)) {
            assertThat(again.opened()).isEqualTo("store open");
        }
    }

    @Test
    void aFileThatIsMountedByItselfIsRefused() throws Exception {
        assertThat(amongMounts("touch '" + second + "'; mount --bind '" + file + "' '" + second + "'"))
                .contains("refused UnsafeStoreException", second.toString(), "mounted as a single file", "directory");
    }

    /** A name that mountinfo must escape, and that is not text in every locale. */
    @Test
    void soIsOneWithAStrangeName() throws Exception {
        second = Files.createDirectory(directory.resolve("a b\\c")).resolve("locks.db");
        assertThat(amongMounts("touch '" + second + "'; mount --bind '" + file + "' '" + second + "'"))
                .contains("mounted as a single file");
    }

    @Test
    void aMountOfItsDirectoryIsTheSameFile() throws Exception {
        assertThat(amongMounts("mount --bind '" + file.getParent() + "' '" + second.getParent() + "'"))
                .isEqualTo("Busy");
    }

    @Test
    void aSymbolicLinkIsTheSameFile() throws Exception {
        Files.createSymbolicLink(second, file);
        assertThat(answer(() -> LeaseProcess.open(second))).isEqualTo("Busy");
    }

    @Test
    void bindfsIsRefused() throws Exception {
        Path mount = second.getParent();
        assumeTrue(
                LeaseProcess.run("bindfs", file.getParent().toString(), mount.toString()),
                "needs bindfs and the right to mount: apt install bindfs, and run as root with /dev/fuse");
        try {
            assertThat(answer(() -> LeaseProcess.open(second)))
                    .contains("refused UnsafeStoreException", second.toString(), "of type fuse", "local disk");
        } finally {
            LeaseProcess.run("umount", "-l", mount.toString());
        }
    }

    /** A frequent use of bindfs; the JDK then reports the file system below. */
    @Test
    void bindfsOverAnotherMountIsRefused() throws Exception {
        Path mount = second.getParent();
        assumeTrue(
                LeaseProcess.run("mount", "--bind", mount.toString(), mount.toString()),
                "needs the right to mount: run as root");
        try {
            assumeTrue(
                    LeaseProcess.run("bindfs", file.getParent().toString(), mount.toString()),
                    "needs bindfs: apt install bindfs");
            assertThat(answer(() -> LeaseProcess.open(second))).contains("refused", "of type fuse");
        } finally {
            // Both mounts.
            LeaseProcess.run("umount", "-l", mount.toString());
            LeaseProcess.run("umount", "-l", mount.toString());
        }
    }
}
