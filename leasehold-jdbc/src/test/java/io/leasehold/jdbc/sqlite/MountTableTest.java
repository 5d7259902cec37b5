package io.leasehold.jdbc.sqlite;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;

/** The lines of mountinfo for a path: recorded ones, and those of this machine. */
@Tag("quick")
class MountTableTest {

    /** A Docker container with a directory, a single file and its usual files mounted. */
    private static final String DOCKER = """
            612 518 0:52 / / rw,relatime master:248 - overlay overlay rw,lowerdir=/l/A:/l/B,upperdir=/u,workdir=/w
            613 612 0:55 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw
            614 612 0:56 / /dev rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755
            615 614 0:57 / /dev/pts rw,nosuid,noexec,relatime - devpts devpts rw,gid=5,mode=620,ptmxmode=666
            618 612 254:0 /var/lib/docker/containers/f0/hosts /etc/hosts rw,relatime - ext4 /dev/vda rw,discard
            619 612 254:0 /srv/locks /data rw,relatime shared:3 master:1 propagate_from:2 - ext4 /dev/vda rw,discard
            620 612 254:0 /srv/locks/locks.db /single/locks.db rw,relatime - ext4 /dev/vda rw,discard
            """;

    private static final String ROOT = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n";

    private static MountTable table(String mountinfo) {
        return MountTable.parse(mountinfo.getBytes(StandardCharsets.UTF_8));
    }

    private static @Nullable String type(MountTable table, String path) {
        MountTable.Mount mount = table.of(path);
        return mount == null ? null : mount.type();
    }

    @Test
    void aContainersMountsAreToldApart() {
        MountTable table = table(DOCKER);
        assertThat(type(table, "/root/locks.db")).isEqualTo("overlay");
        assertThat(type(table, "/data/locks.db")).isEqualTo("ext4");
        assertThat(type(table, "/database/locks.db")).as("a longer name").isEqualTo("overlay");
        assertThat(type(table, "/dev/pts/0")).isEqualTo("devpts");
        assertThat(table.isMountPoint("/single/locks.db")).isTrue();
        assertThat(table.isMountPoint("/data/locks.db")).isFalse();
        assertThat(table.isMountPoint("/data")).isTrue();
        assertThat(table.isMountPoint("/")).isTrue();
    }

    @Test
    void bindfsShowsItselfUnderEitherName() {
        for (String type : new String[] {"fuse", "fuse.bindfs"}) {
            MountTable table = table(ROOT + "42 27 0:39 / /b rw,nosuid,nodev,relatime - " + type
                    + " /a rw,user_id=0,group_id=0,default_permissions,allow_other\n");
            assertThat(type(table, "/b/locks.db")).isEqualTo(type);
            assertThat(type(table, "/a/locks.db")).isEqualTo("ext4");
        }
    }

    @Test
    void theUppermostOfSeveralMountsAtOnePlaceCounts() {
        String disk = "42 27 254:1 / /data rw - xfs /dev/vdb rw\n";
        String upon = "43 42 0:39 / /data rw - fuse.bindfs /data rw\n";
        assertThat(type(table(ROOT + disk + upon), "/data/locks.db")).isEqualTo("fuse.bindfs");
        assertThat(type(table(upon + disk + ROOT), "/data/locks.db")).isEqualTo("fuse.bindfs");
    }

    @Test
    void aMountBelowALaterOneIsHidden() {
        MountTable table = table(ROOT
                + "42 27 0:39 / /a/b rw - fuse.bindfs /x rw\n"
                + "43 27 254:1 / /a rw - xfs /dev/vdb rw\n"
                + "44 43 254:2 / /a/c rw - btrfs /dev/vdc rw\n");
        assertThat(type(table, "/a/b/locks.db")).isEqualTo("xfs");
        assertThat(table.isMountPoint("/a/b")).isFalse();
        assertThat(type(table, "/a/c/locks.db")).isEqualTo("btrfs");
    }

    @Test
    void escapesAndBytesAreThoseOfThePath() {
        MountTable table = table(ROOT + "42 27 0:39 / /a\\040b\\134c\\012d/t\u00fcr rw - fuse.x y rw\n");
        String asBytes =
                new String("/a b\\c\nd/t\u00fcr".getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1);
        assertThat(type(table, asBytes + "/locks.db")).isEqualTo("fuse.x");
    }

    @Test
    void anEscapeMayStandAtTheEndAndABackslashThatBeginsNoneIsItself() {
        assertThat(table(ROOT + "42 27 0:39 / /a\\040 rw - xfs d rw\n").isMountPoint("/a "))
                .isTrue();
        assertThat(table(ROOT + "42 27 0:39 / /a\\04 rw - xfs d rw\n").isMountPoint("/a\\04"))
                .isTrue();
    }

    @Test
    void ofTwoMountsBesideEachOtherTheShorterPathComesFirst() {
        String outer = "42 27 254:1 / /a rw - xfs /dev/vdb rw\n";
        String inner = "43 27 254:2 / /a/b rw - btrfs /dev/vdc rw\n";
        assertThat(type(table(ROOT + outer + inner), "/a/b/c")).isEqualTo("xfs");
        assertThat(type(table(ROOT + inner + outer), "/a/b/c")).isEqualTo("xfs");
        assertThat(type(table(ROOT + outer + inner), "/x")).isEqualTo("ext4");
    }

    @Test
    void aPathIsItsBytes() {
        assertThat(MountedFileSystems.bytes(Path.of("/a b/%41\\x"))).isEqualTo("/a b/%41\\x");
        assertThat(MountedFileSystems.bytes(Path.of("/"))).isEqualTo("/");
        assertThat(MountedFileSystems.bytes(Path.of("/tmp"))).as("a directory").isEqualTo("/tmp");
    }

    @Test
    void networksAndSecondViewsAreToldFromLocalDisks() {
        for (String network : new String[] {"nfs", "NFS4", "nfs-of-a-later-day", "cifs", "9p", "VirtioFS"}) {
            assertThat(FileSystems.isNetwork(network)).as(network).isTrue();
        }
        for (String local : new String[] {"ext4", "xfs", "overlay", "tmpfs", "apfs", "fuse.bindfs", "my-nfs"}) {
            assertThat(FileSystems.isNetwork(local)).as(local).isFalse();
        }
        for (String second : new String[] {"fuse", "FUSE.bindfs", "fusefs", "fusefs.sshfs", "eCryptfs", "macfuse"}) {
            assertThat(FileSystems.mayBeASecondView(second)).as(second).isTrue();
        }
        for (String own :
                new String[] {"ext4", "overlay", "fuse.fuse-overlayfs", "fuseblk", "fuse.ntfs-3g", "diffuse"}) {
            assertThat(FileSystems.mayBeASecondView(own)).as(own).isFalse();
        }
    }

    @Test
    void whereNobodyCanTellNoFileIsAMount() throws IOException {
        FileSystems simple = existing -> "ext4";
        assertThat(simple.isMountPoint(Path.of("/"))).isFalse();
    }

    @Test
    void whatIsNotUnderstoodSaysNothing() {
        assertThat(type(table(""), "/x")).isNull();
        assertThat(table("").isMountPoint("/x")).isFalse();
        assertThat(type(table("rubbish\n27 1 254:0 / /\n1 2 3 4 5 6 7 8 9\nx y 0:1 / / rw - ext4 d rw\n"), "/x"))
                .isNull();
        assertThat(type(table("rubbish\n" + ROOT + "42 27 0:1 / /b rw -\n"), "/b/x"))
                .isEqualTo("ext4");
        // The root directory of a process (chroot) need not be a mount: then its root is not listed.
        assertThat(type(table("42 27 0:39 / /b rw - xfs d rw\n"), "/x")).isNull();
    }

    static boolean hasMountinfo() {
        return Files.isReadable(Path.of("/proc/self/mountinfo"));
    }

    @Test
    @EnabledIf("hasMountinfo")
    void thisMachineTellsWhatTheJdkTells(@TempDir Path directory) throws IOException {
        Path file = Files.createFile(directory.resolve("x y\u00fc"));
        FileSystems real = FileSystems.real();
        assertThat(real.typeOf(file)).isEqualTo(Files.getFileStore(file).type());
        assertThat(real.isMountPoint(file)).isFalse();
        assertThat(real.typeOf(Path.of("/proc"))).isEqualTo("proc");
        assertThat(real.isMountPoint(Path.of("/proc"))).isTrue();
    }
}
