package io.leasehold.jdbc.sqlite;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Set;

/** Finds the type of the file system that contains a path. */
@FunctionalInterface
public interface FileSystems {

    /** The types whose file locks or shared memory do not reach every machine that may mount them. */
    Set<String> NETWORK = Set.of("""
            9p afpfs afs beegfs ceph cifs coda davfs drvfs fakeowner
            gfs2 glusterfs gpfs lustre ncpfs nfs nfs3 nfs4 ocfs2 orangefs
            pvfs2 prl_fs smb smb2 smb3 smbfs vboxsf virtiofs vmhgfs webdav""".split("\\s+", -1));

    /** FUSE file systems with their own disk or container: no other path leads to their files. */
    Set<String> LOCAL_FUSE = Set.of("fuse.fuse-overlayfs", "fuse.ntfs-3g", "fuseblk");

    /** File systems that show the files of another directory, and do not pass locks on. */
    Set<String> SECOND_VIEWS = Set.of("ecryptfs", "macfuse", "osxfuse", "shiftfs");

    /** The operating system's name of the type. */
    String typeOf(Path existing) throws IOException;

    /** Whether the file itself is a mount, and not only the directory that it is in. */
    default boolean isMountPoint(Path file) throws IOException {
        return false;
    }

    /** Returns an implementation that queries the operating system. */
    static FileSystems real() {
        return new MountedFileSystems();
    }

    /** Whether a file on such a file system may be open on several machines at once. */
    static boolean isNetwork(String type) {
        String lower = type.toLowerCase(Locale.ROOT);
        return NETWORK.contains(lower) || lower.startsWith("nfs");
    }

    /**
     * Whether a file on such a file system may have another path, or be open on other machines that do not see its
     * locks. This is assumed of every FUSE file system that is not known to be safe.
     */
    static boolean mayBeASecondView(String type) {
        String lower = type.toLowerCase(Locale.ROOT);
        boolean fuse = lower.equals("fuse") || lower.startsWith("fuse.") || lower.startsWith("fusefs");
        return SECOND_VIEWS.contains(lower) || (fuse && !LOCAL_FUSE.contains(lower));
    }
}
