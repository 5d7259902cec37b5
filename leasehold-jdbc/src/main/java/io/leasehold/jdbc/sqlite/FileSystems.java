package io.leasehold.jdbc.sqlite;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Set;

/** Finds the kind of file system on which a path lies. */
@FunctionalInterface
public interface FileSystems {

    /** Types whose file locks or shared memory do not reach every machine that may have them mounted. */
    Set<String> NETWORK = Set.of("""
            9p afpfs afs beegfs ceph cifs coda davfs drvfs fakeowner
            gfs2 glusterfs gpfs lustre ncpfs nfs nfs3 nfs4 ocfs2 orangefs
            pvfs2 prl_fs smb smb2 smb3 smbfs vboxsf virtiofs vmhgfs webdav""".split("\\s+", -1));

    /** FUSE file systems with a disk, or a container, of their own: nothing reaches their files by another path. */
    Set<String> LOCAL_FUSE = Set.of("fuse.fuse-overlayfs", "fuse.ntfs-3g", "fuseblk");

    /** File systems that show the files of another directory, and keep locks to themselves. */
    Set<String> SECOND_VIEWS = Set.of("ecryptfs", "macfuse", "osxfuse", "shiftfs");

    /** The type as the operating system calls it. */
    String typeOf(Path existing) throws IOException;

    /** Whether the file itself is a mount, and not only the directory that it is in. */
    default boolean isMountPoint(Path file) throws IOException {
        return false;
    }

    /** Asks the operating system. */
    static FileSystems real() {
        return new MountedFileSystems();
    }

    /** Whether a file on such a file system may be open on several machines at once. */
    static boolean isNetwork(String type) {
        String lower = type.toLowerCase(Locale.ROOT);
        return NETWORK.contains(lower) || lower.startsWith("nfs");
    }

    /**
     * Whether a file on such a file system may have another path, or be open on other machines, without its locks being known
     * there: so any that is made by a program (FUSE), unless it is known to be otherwise.
     */
    static boolean mayBeASecondView(String type) {
        String lower = type.toLowerCase(Locale.ROOT);
        boolean fuse = lower.equals("fuse") || lower.startsWith("fuse.") || lower.startsWith("fusefs");
        return SECOND_VIEWS.contains(lower) || (fuse && !LOCAL_FUSE.contains(lower));
    }
}
