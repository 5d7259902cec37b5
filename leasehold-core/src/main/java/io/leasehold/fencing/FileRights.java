package io.leasehold.fencing;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The owner, group and permissions that a new file takes from the file that it replaces or guards. */
final class FileRights {

    private static final Set<PosixFilePermission> OF_THE_GROUP =
            Set.of(PosixFilePermission.GROUP_READ, PosixFilePermission.GROUP_WRITE, PosixFilePermission.GROUP_EXECUTE);

    private FileRights() {}

    /**
     * Copies the group and the permissions of a file to another; no user gets permissions that the file does not grant.
     *
     * @return the other file's permissions, or null if the file system does not support them
     */
    static @Nullable PosixFileAttributeView keep(Path file, Path other) throws IOException {
        PosixFileAttributeView from = Files.getFileAttributeView(file, PosixFileAttributeView.class);
        PosixFileAttributeView to = Files.getFileAttributeView(other, PosixFileAttributeView.class);
        if (from == null || to == null) {
            return null;
        }
        PosixFileAttributes wanted = from.readAttributes();
        PosixFileAttributes made = to.readAttributes();
        Set<PosixFilePermission> permissions = wanted.permissions();
        if (!wanted.group().equals(made.group())) {
            try {
                to.setGroup(wanted.group());
            } catch (IOException notAMember) {
                permissions.removeAll(OF_THE_GROUP);
            }
        }
        if (!wanted.owner().equals(made.owner())) {
            try {
                to.setOwner(wanted.owner());
            } catch (IOException notAnAdministrator) {
                // The process that replaces another user's file becomes its owner.
            }
        }
        to.setPermissions(permissions);
        return to;
    }
}
