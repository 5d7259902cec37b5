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
 * The file of an SQLite store as the file system sees it: made for its user alone where it is missing, and refused, in
 * one line, where it could not be relied on.
 */
final class LockFile {

    private final Path path;
    private final FileSystems fileSystems;

    LockFile(Path path, FileSystems fileSystems) {
        this.path = path;
        this.fileSystems = fileSystems;
    }

    /** Makes sure that the file is there, local, and may be read and written. */
    void prepare() {
        Path directory = path.getParent();
        if (directory == null || Files.isDirectory(path)) {
            throw unavailable("is a directory; name a file in it", null);
        }
        try {
            makeDirectories(directory);
            refuseFileSystem(directory);
            makeFile();
        } catch (AccessDeniedException e) {
            throw access(
                    "may not be created: this user has no right to " + e.getFile() + "; name a file where it may write",
                    e);
        } catch (FileSystemException e) {
            throw unavailable("cannot be created: " + e.getReason() + " (" + e.getFile() + ")", e);
        } catch (IOException e) {
            throw unavailable("cannot be created: " + e.getMessage(), e);
        }
        if (!Files.isRegularFile(path)) {
            throw unavailable("is neither a file nor can one be made there", null);
        }
        try {
            refuseSecondPaths();
        } catch (IOException e) {
            throw unavailable("cannot be looked at: " + e.getMessage(), e);
        }
        if (!Files.isReadable(path) || !Files.isWritable(path)) {
            throw access("may not be read and written by this user; it needs both rights", null);
        }
        if (!Files.isWritable(directory)) {
            throw access("needs a directory in which this user may write: SQLite keeps its log beside the file", null);
        }
    }

    /** Refuses a file that is not there, or was made and never used. Does not open it. */
    void requireExisting() {
        try {
            if (Files.size(path) > 0) {
                return;
            }
        } catch (NoSuchFileException e) {
            // As one that is empty.
        } catch (AccessDeniedException e) {
            throw access("may not be looked at by this user", e);
        } catch (IOException e) {
            throw unavailable("cannot be looked at: " + e.getMessage(), e);
        }
        throw new StoreUnavailableException("there is no store at " + path + ": no lock was ever taken there", null);
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
            // Another process was faster, and made it for us too.
        }
    }

    /** Attributes for a new file that may be used by all that may use this one. */
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
                    + ", which other machines may share without sharing its locks; name a file on a local disk, or"
                    + " use a store with a server");
        } else if (FileSystems.mayBeASecondView(type)) {
            throw unsafe("is on a file system of type " + type
                    + ", through which a file may have another path, or be seen by other machines, that do not share its locks;"
                    + " name the file by its path on the local disk, or use a store with a server");
        }
    }

    /**
     * SQLite keeps its log beside the name by which it opened the file. By another name it has another log, and what one
     * process writes another does not see.
     */
    private void refuseSecondPaths() throws IOException {
        Path real = path.toRealPath();
        refuseFileSystem(real);
        if (fileSystems.isMountPoint(real)) {
            throw unsafe(
                    "is mounted as a single file: SQLite keeps a log beside it, which those who use the file by its"
                            + " other path would not share; mount the directory that contains it instead");
        }
        long names = names(real);
        if (names > 1) {
            throw unsafe("has " + names
                    + " names (hard links): SQLite keeps a log beside each, and those who use the file by"
                    + " another name would not share it; find them with `find / -xdev -samefile " + real
                    + "`, stop its users, and delete all but one");
        }
    }

    private static long names(Path file) throws IOException {
        boolean unix = file.getFileSystem().supportedFileAttributeViews().contains("unix");
        return unix && Files.getAttribute(file, "unix:nlink") instanceof Number links ? links.longValue() : 1;
    }

    /** The error for the caller when opening fails. */
    LockStoreException refusal(SqlTrouble trouble, SQLException e) {
        String said = " (" + SqlTrouble.firstLine(e) + ")";
        return switch (trouble) {
            case DAMAGED ->
                unavailable(
                        "is damaged or no SQLite database" + said
                                + "; stop its users, then move it away: a new one is made",
                        e);
            case ACCESS, READ_ONLY -> access("may not be written" + said + "; this user needs the right to", e);
            case FULL -> unavailable("has no space left to grow" + said, e);
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
