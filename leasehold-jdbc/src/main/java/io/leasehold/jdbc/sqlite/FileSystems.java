package io.leasehold.jdbc.sqlite;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Set;

/** Tells on what kind of file system a path lies. */
@FunctionalInterface
public interface FileSystems {

    /** Types whose file locks or shared memory do not reach every machine that may have them mounted. */
    Set<String> NETWORK = Set.of(
            "9p",
            "afpfs",
            "afs",
            "beegfs",
            "ceph",
            "cifs",
            "coda",
            "davfs",
            "drvfs",
            "gfs2",
            "glusterfs",
            "gpfs",
            "lustre",
            "ncpfs",
            "nfs",
            "nfs3",
            "nfs4",
            "ocfs2",
            "orangefs",
            "pvfs2",
            "prl_fs",
            "smb",
            "smb2",
            "smb3",
            "smbfs",
            "vboxsf",
            "virtiofs",
            "vmhgfs",
            "webdav");

    /** The type as the operating system calls it. */
    String typeOf(Path existing) throws IOException;

    /** Asks the operating system. */
    static FileSystems real() {
        return existing -> Files.getFileStore(existing).type();
    }

    /** Whether a file on such a file system may be open on several machines at once. */
    static boolean isNetwork(String type) {
        String lower = type.toLowerCase(Locale.ROOT);
        // A FUSE file system may be anything; those that are local have a block device and are called fuseblk.
        return NETWORK.contains(lower) || lower.startsWith("fuse.") || lower.startsWith("nfs");
    }
}
