package io.leasehold.fencing;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.FileSystemLoopException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A file that refuses older holders: the newest token is stored next to it, in {@code NAME.fence}.
 *
 * <p><b>Guarantee.</b> Among all uses of the file through this class, by any process of this machine, a token below the
 * largest one seen can neither read nor write. Check and use are one atomic step, under the kernel's lock on
 * {@code NAME.fence}. A token is on disk before the content that it admits, and the content is replaced as a whole:
 * after a crash the file has the old content or the new one, never a part. A symbolic link stands for its target. The
 * new content keeps the permissions of the old, so that no additional user can read it (if the group cannot be kept,
 * the new group has no permissions).
 *
 * <p><b>Condition.</b> Use the file under one name: a hard link has a fence of its own. Keep {@code NAME.fence} as long
 * as the file; if the fence is empty or corrupt, it admits no holder. Do not use it on network file systems, whose
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
    private static final int MAX_FENCE_BYTES = 64;
    private static final Pattern DIGITS = Pattern.compile("[0-9]{1,16}");
    private static final Set<PosixFilePermission> OF_THE_GROUP =
            Set.of(PosixFilePermission.GROUP_READ, PosixFilePermission.GROUP_WRITE, PosixFilePermission.GROUP_EXECUTE);

    private final Path file;
    private final Path fence;
    private final ReentrantLock lock;
    private final Consumer<? super Admission> observer;

    private FencedFile(Path file, Consumer<? super Admission> observer) {
        this.file = file;
        this.fence = file.resolveSibling(file.getFileName() + ".fence");
        this.lock = STRIPES.get(Math.floorMod(fence.hashCode(), STRIPES.size()));
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
     * Reads the content; empty if the file does not exist. Registers the token, since a read is contact.
     *
     * @throws StaleTokenException if a newer holder has been here
     */
    public Optional<byte[]> read(long token) throws IOException {
        return underLock(token, () -> {
            try {
                return Optional.of(Files.readAllBytes(file));
            } catch (NoSuchFileException none) {
                return Optional.empty();
            }
        });
    }

    /**
     * Replaces the content.
     *
     * @throws StaleTokenException if a newer holder has been here; nothing was changed
     */
    public void write(long token, byte[] content) throws IOException {
        byte[] copy = content.clone();
        underLock(token, () -> {
            replace(copy);
            return Optional.<byte[]>empty();
        });
    }

    private interface Use<T> {
        T now() throws IOException;
    }

    private <T> T underLock(long token, Use<T> use) throws IOException {
        FencingToken.require(token);
        Admission admission = null;
        lock.lock();
        try (FileChannel channel = openFence();
                FileLock held = channel.lock()) {
            if (Files.isSymbolicLink(file)) {
                throw new IOException("\"" + file
                        + "\" has become a symbolic link, and what it leads to has a fence of its own: open it anew");
            }
            admission = admit(channel, token);
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

    private FileChannel openFence() throws IOException {
        while (true) {
            try {
                return FileChannel.open(fence, StandardOpenOption.READ, StandardOpenOption.WRITE);
            } catch (NoSuchFileException first) {
                makeFence();
            }
        }
    }

    /** Creates the fence together with its first number: an empty fence has lost its number. */
    private void makeFence() throws IOException {
        Path made = Files.createTempFile(file.getParent(), fence.getFileName() + "-", ".new");
        // Uses only the name of a temporary file: the permissions must be those of any new file.
        Files.delete(made);
        try {
            try (FileChannel channel =
                    FileChannel.open(made, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
                put(channel, 0);
            }
            if (Files.exists(file)) {
                PosixFileAttributeView rights = keepRights(made);
                if (rights != null) {
                    // Even if the file itself can only be replaced.
                    Set<PosixFilePermission> all = rights.readAttributes().permissions();
                    all.addAll(Set.of(PosixFilePermission.OWNER_READ, PosixFilePermission.OWNER_WRITE));
                    rights.setPermissions(all);
                }
            }
            link(made);
        } finally {
            Files.deleteIfExists(made);
        }
        forceDirectory();
    }

    private void link(Path made) throws IOException {
        try {
            // Unlike a rename it never replaces a file that another process has created meanwhile.
            Files.createLink(fence, made);
        } catch (FileAlreadyExistsException another) {
            // This process uses that fence, too.
        } catch (UnsupportedOperationException | FileSystemException noLinks) {
            makeFenceInPlace();
        }
    }

    /**
     * Creates the fence on a file system without links. A crash at this moment leaves it empty, and an operator must
     * delete it.
     */
    private void makeFenceInPlace() throws IOException {
        try (FileChannel channel = FileChannel.open(fence, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
                FileLock held = channel.lock()) {
            put(channel, 0);
        } catch (FileAlreadyExistsException another) {
            // This process uses that fence, too.
        }
    }

    /** Forces the directory to disk, so that a loss of power does not leave the content without its fence. */
    private void forceDirectory() {
        try (FileChannel directory = FileChannel.open(file.getParent(), StandardOpenOption.READ)) {
            directory.force(true);
        } catch (IOException notHere) {
            // Windows cannot open directories, and does not need this.
        }
    }

    private Admission admit(FileChannel channel, long token) throws IOException {
        long newest = newest(channel);
        if (token < newest) {
            return new Admission.Rejected(file.toString(), token, newest);
        }
        if (token > newest) {
            put(channel, token);
        }
        return new Admission.Admitted(file.toString(), token);
    }

    /** Writes a fixed length from the start: if a crash tears it, the result is not below the old token. */
    private static void put(FileChannel channel, long token) throws IOException {
        // Uses the digits that the reader expects: the default locale may have others.
        putAll(channel, StandardCharsets.US_ASCII.encode(String.format(Locale.ROOT, "%016d\n", token)));
    }

    private static void putAll(FileChannel channel, ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            channel.write(bytes, bytes.position());
        }
        channel.force(true);
    }

    private long newest(FileChannel channel) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(MAX_FENCE_BYTES);
        while (bytes.hasRemaining() && channel.read(bytes, bytes.position()) > 0) {
            // until the end
        }
        String text = StandardCharsets.US_ASCII.decode(bytes.flip()).toString().strip();
        long newest = DIGITS.matcher(text).matches() ? Long.parseLong(text) : -1;
        if (newest < 0 || newest > FencingToken.LARGEST || channel.size() > MAX_FENCE_BYTES) {
            throw new IOException(
                    "\"" + fence + "\" does not contain a fencing token" + (text.isEmpty() ? ": it is empty" : "")
                            + "; no holder is admitted until an operator has written the largest token that was ever used into the file");
        }
        return newest;
    }

    private void replace(byte[] content) throws IOException {
        Path next = file.resolveSibling(file.getFileName() + ".next");
        // A file left by a crash has other permissions.
        Files.deleteIfExists(next);
        PosixFileAttributeView rights = null;
        if (Files.exists(file)) {
            Files.copy(file, next, StandardCopyOption.COPY_ATTRIBUTES);
            rights = keepRights(next);
        }
        Set<PosixFilePermission> kept =
                rights == null ? Set.of() : rights.readAttributes().permissions();
        if (rights != null && !kept.contains(PosixFilePermission.OWNER_WRITE)) {
            rights.setPermissions(Set.of(PosixFilePermission.OWNER_WRITE));
        }
        try (FileChannel channel = FileChannel.open(
                next, StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.TRUNCATE_EXISTING)) {
            putAll(channel, ByteBuffer.wrap(content));
        }
        if (rights != null) {
            rights.setPermissions(kept);
        }
        Files.move(next, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    /**
     * Copies the group and the permissions of this file to another; no user gets permissions that this file does not
     * grant.
     *
     * @return the other file's permissions, or null if the file system does not support them
     */
    private @Nullable PosixFileAttributeView keepRights(Path other) throws IOException {
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
