package io.leasehold.jdbc.sqlite;

import io.leasehold.LockStoreException;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.jdbc.dialect.SqlTrouble;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;

/**
 * The file of an SQLite store in the file system: creates it for its user alone if it is missing, and refuses it with a
 * one-line message if it is not reliable.
 */
final class LockFile {

    private final Path path;
    private final FileSystems fileSystems;
    private final boolean makes;

    LockFile(Path path, FileSystems fileSystems) {
        this(path, fileSystems, true);
    }

    /**
     * A file.
     *
     * @param makes whether to create it; otherwise, a missing file is refused
     */
    LockFile(Path path, FileSystems fileSystems, boolean makes) {
        this.path = path;
        this.fileSystems = fileSystems;
        this.makes = makes;
    }

    /** Requires that the file exists, is local, and is readable and writable. */
    void prepare() {
        if (!makes) {
            requireExisting();
        }
        Path directory = path.getParent();
        if (directory == null || Files.isDirectory(path)) {
            throw unavailable("is a directory; use a file in it", null);
        }
        try {
            if (makes) {
                makeDirectories(directory);
            }
            refuseFileSystem(directory);
            if (makes) {
                makeFile();
            }
        } catch (AccessDeniedException e) {
            throw access(
                    "cannot be created: this user has no permission for " + e.getFile()
                            + "; use a file in a writable directory",
                    e);
        } catch (FileSystemException e) {
            throw unavailable("cannot be created: " + e.getReason() + " (" + e.getFile() + ")", e);
        } catch (IOException e) {
            throw unavailable("cannot be created: " + e.getMessage(), e);
        }
        if (!Files.isRegularFile(path)) {
            throw unavailable("is not a file, and none can be created there", null);
        }
        try {
            refuseSecondPaths();
        } catch (IOException e) {
            throw unavailable("cannot be looked at: " + e.getMessage(), e);
        }
        if (!Files.isReadable(path) || !Files.isWritable(path)) {
            throw access("is not readable and writable by this user; it needs both permissions", null);
        }
        if (!Files.isWritable(directory)) {
            throw access("needs a directory that this user can write: SQLite keeps its log next to the file", null);
        }
    }

    /** Refuses a file that does not exist, or was created and never used. Does not open it. */
    private void requireExisting() {
        try {
            if (Files.size(path) > 0) {
                return;
            }
        } catch (NoSuchFileException e) {
            // Reported below, like an empty file.
        } catch (AccessDeniedException e) {
            throw access("is not accessible to this user", e);
        } catch (IOException e) {
            throw unavailable("cannot be looked at: " + e.getMessage(), e);
        }
        throw missing();
    }

    /** The refusal of a file that does not exist, or was never used. */
    StoreUnavailableException missing() {
        return new StoreUnavailableException(
                "there is no store at " + path + ": no lock was ever acquired there", null);
    }

    private void makeDirectories(Path directory) throws IOException {
        if (!Files.isDirectory(directory)) {
            Files.createDirectories(directory, forOwner(directory, "rwx------"));
        }
    }

    private void makeFile() throws IOException {
        if (Files.exists(path)) {
            return;
        }
        try {
            Files.createFile(path, forOwner(path, "rw-------"));
        } catch (FileAlreadyExistsException e) {
            // Another process has created it first.
        }
    }

    /** The attributes of a new file with the same permissions as this one. */
    static FileAttribute<?>[] attributesLike(Path existing) throws IOException {
        boolean posix = existing.getFileSystem().supportedFileAttributeViews().contains("posix");
        return posix
                ? new FileAttribute<?>[] {PosixFilePermissions.asFileAttribute(Files.getPosixFilePermissions(existing))}
                : new FileAttribute<?>[0];
    }

    private static FileAttribute<?>[] forOwner(Path at, String permissions) {
        boolean posix = at.getFileSystem().supportedFileAttributeViews().contains("posix");
        return posix
                ? new FileAttribute<?>[] {
                    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(permissions))
                }
                : new FileAttribute<?>[0];
    }

    private void refuseFileSystem(Path existing) throws IOException {
        String type = fileSystems.typeOf(existing);
        if (FileSystems.isNetwork(type)) {
            throw unsafe("is on a file system of type " + type
                    + ", which other machines may share without its locks; use a file on a local disk, or"
                    + " use a store with a server");
        } else if (FileSystems.mayBeASecondView(type)) {
            throw unsafe("is on a file system of type " + type
                    + ", through which a file may have another path, or be visible to other machines, without its locks;"
                    + " name the file by its path on the local disk, or use a store with a server");
        }
    }

    /**
     * Refuses a second name: SQLite keeps its log next to the name by which it opened the file. Under another name it
     * has another log, and one process does not see the writes of another.
     */
    private void refuseSecondPaths() throws IOException {
        Path real = path.toRealPath();
        refuseFileSystem(real);
        if (fileSystems.isMountPoint(real)) {
            throw unsafe("is mounted as a single file: SQLite keeps a log next to it, which processes that use its"
                    + " other path would not share; mount the directory that contains it instead");
        }
        long names = names(real);
        if (names > 1) {
            throw unsafe("has " + names
                    + " names (hard links): SQLite keeps a log next to each, and processes that use"
                    + " another name would not share it; find them with `find / -xdev -samefile " + real
                    + "`, stop its users, and delete all but one");
        }
    }

    private static long names(Path file) throws IOException {
        boolean unix = file.getFileSystem().supportedFileAttributeViews().contains("unix");
        return unix && Files.getAttribute(file, "unix:nlink") instanceof Number links ? links.longValue() : 1;
    }

    /** The error for the caller if opening fails. */
    LockStoreException refusal(SqlTrouble trouble, SQLException e) {
        String said = " (" + SqlTrouble.firstLine(e) + ")";
        return switch (trouble) {
            case DAMAGED ->
                unavailable(
                        "is damaged or not an SQLite database" + said
                                + "; stop its users, then move it away: a new one is created",
                        e);
            case ACCESS, READ_ONLY -> access("is not writable" + said + "; this user needs write permission", e);
            case FULL -> unavailable("cannot grow: no space left" + said, e);
            case CONTENTION -> unavailable("stayed locked by another process" + said, e);
            case UNREACHABLE, INTERRUPTED, OTHER -> unavailable("cannot be opened" + said, e);
        };
    }

    private StoreUnavailableException unavailable(String what, @Nullable Throwable cause) {
        return new StoreUnavailableException("lock file " + path + " " + what, cause);
    }

    private UnsafeStoreException unsafe(String what) {
        return new UnsafeStoreException("lock file " + path + " " + what, null);
    }

    private StoreAccessException access(String what, @Nullable Throwable cause) {
        return new StoreAccessException("lock file " + path + " " + what, cause);
    }
}
