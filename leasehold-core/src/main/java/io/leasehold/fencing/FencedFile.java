package io.leasehold.fencing;

import io.leasehold.Lease;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.FileSystemLoopException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFilePermission;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * A file that refuses older holders: the newest token is stored next to it, in {@code NAME.fence}.
 *
 * <p><b>Guarantee.</b> Among all uses of the file through this class, by any process of this machine, a token below the
 * largest one seen can neither read nor write. Readers ({@link Access#READ}) exclude older writers and not each other
 * ({@link TokenPair}); for them a second file, {@code NAME.fence-writer}, keeps the token of the newest writer. Check
 * and use are one atomic step, under the kernel's lock on {@code NAME.fence}. A token is on disk before the content that
 * it admits, and the content is replaced as a whole: after a crash the file has the old content or the new one, never a
 * part. A symbolic link stands for its target. The new content keeps the permissions of the old, so that no additional
 * user can read it (if the group cannot be kept, the new group has no permissions).
 *
 * <p><b>Condition.</b> Use the file under one name: a hard link has a fence of its own. Keep both files of the fence as
 * long as the file; if the fence is empty or corrupt, it admits no holder. Do not use it on network file systems, whose
 * locks and renames may promise less.
 *
 * <p><b>Threads.</b> Any thread may use it. Calls block on I/O, and while another thread or process uses the same file.
 */
public final class FencedFile {

    /**
     * Locks between the threads of this process, acquired before the kernel's lock, which belongs to the process. Files
     * that share a stripe only wait unnecessarily.
     */
    private static final List<ReentrantLock> STRIPES =
            Stream.generate(ReentrantLock::new).limit(64).toList();

    private static final int MAX_LINKS = 40;

    private final Path file;
    private final FileFence fence;
    private final ReentrantLock lock;
    private final Consumer<? super Admission> observer;

    private FencedFile(Path file, Consumer<? super Admission> observer) {
        this.file = file;
        this.fence = new FileFence(file);
        this.lock = STRIPES.get(Math.floorMod(fence.path().hashCode(), STRIPES.size()));
        this.observer = observer;
    }

    /**
     * Opens the file at this path. The file need not exist yet; its directory must.
     *
     * @throws IOException if the directory does not exist
     */
    public static FencedFile at(Path path) throws IOException {
        return at(path, admission -> {});
    }

    /**
     * Opens the file at this path, with an observer of each answer: to count rejections, or to log them.
     *
     * @param observer called by the thread that uses the file, after the use and without any lock held; concurrent uses
     *     call it concurrently
     * @throws IOException if the directory does not exist
     */
    public static FencedFile at(Path path, Consumer<? super Admission> observer) throws IOException {
        Objects.requireNonNull(observer, "observer");
        return new FencedFile(behindLinks(path), observer);
    }

    /** Resolves symbolic links: two paths to one file must have one fence. The last name of the path need not exist. */
    private static Path behindLinks(Path path) throws IOException {
        Path at = path.toAbsolutePath();
        for (int links = 0; links <= MAX_LINKS; links++) {
            Path name = at.getFileName();
            Path directory = at.getParent();
            if (name == null || directory == null) {
                throw new IllegalArgumentException("\"" + path + "\" is not the path of a file");
            }
            Path real = directory.toRealPath();
            at = real.resolve(name);
            if (!Files.isSymbolicLink(at)) {
                return Files.exists(at) ? at.toRealPath() : at;
            }
            at = real.resolve(Files.readSymbolicLink(at));
        }
        throw new FileSystemLoopException(path.toString());
    }

    /**
     * Reads the content under an exclusive lease; empty if the file does not exist. Registers the token, since a read is
     * contact.
     *
     * @throws StaleTokenException if a newer holder has been here
     */
    public Optional<byte[]> read(long token) throws IOException {
        return read(token, Access.WRITE);
    }

    /**
     * Reads the content under a lease, whose token and kind it registers; empty if the file does not exist.
     *
     * @throws StaleTokenException if a newer holder has been here that this lease excludes
     */
    public Optional<byte[]> read(Lease lease) throws IOException {
        return read(lease.fencingToken(), Access.of(lease));
    }

    /**
     * Reads the content; empty if the file does not exist. Registers the token, since a read is contact.
     *
     * @param access the kind of the lease
     * @throws StaleTokenException if a newer writer has been here or, for the holder of an exclusive lease, any newer
     *     holder
     */
    public Optional<byte[]> read(long token, Access access) throws IOException {
        Objects.requireNonNull(access, "access");
        return underLock(token, access, () -> {
            try {
                return Optional.of(Files.readAllBytes(file));
            } catch (NoSuchFileException none) {
                return Optional.empty();
            }
        });
    }

    /**
     * Replaces the content, under an exclusive lease.
     *
     * @throws StaleTokenException if a newer holder has been here; nothing was changed
     */
    public void write(long token, byte[] content) throws IOException {
        byte[] copy = content.clone();
        underLock(token, Access.WRITE, () -> {
            replace(copy);
            return Optional.<byte[]>empty();
        });
    }

    private interface Use<T> {
        T now() throws IOException;
    }

    private <T> T underLock(long token, Access access, Use<T> use) throws IOException {
        FencingToken.require(token);
        Admission admission = null;
        lock.lock();
        try (FileChannel channel = fence.open();
                FileLock held = channel.lock()) {
            if (Files.isSymbolicLink(file)) {
                throw new IOException("\"" + file
                        + "\" has become a symbolic link, and what it leads to has a fence of its own: open it anew");
            }
            admission = fence.admit(channel, token, access);
            admission.orElseThrow();
            return use.now();
        } finally {
            lock.unlock();
            if (admission != null) {
                // Outside of both locks: no thread waits for the user's code.
                observer.accept(admission);
            }
        }
    }

    private void replace(byte[] content) throws IOException {
        Path next = file.resolveSibling(file.getFileName() + ".next");
        // A file left by a crash has other permissions.
        Files.deleteIfExists(next);
        PosixFileAttributeView rights = null;
        if (Files.exists(file)) {
            Files.copy(file, next, StandardCopyOption.COPY_ATTRIBUTES);
            rights = FileRights.keep(file, next);
        }
        Set<PosixFilePermission> kept =
                rights == null ? Set.of() : rights.readAttributes().permissions();
        if (rights != null && !kept.contains(PosixFilePermission.OWNER_WRITE)) {
            rights.setPermissions(Set.of(PosixFilePermission.OWNER_WRITE));
        }
        try (FileChannel channel = FileChannel.open(
                next, StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.TRUNCATE_EXISTING)) {
            FileFence.putAll(channel, ByteBuffer.wrap(content));
        }
        if (rights != null) {
            rights.setPermissions(kept);
        }
        Files.move(next, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }
}
