package io.leasehold.fencing;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * A file that refuses older holders: the newest token is kept beside it, in {@code NAME.fence}.
 *
 * <p><b>Guarantee.</b> Among all who use the file through this class, in any process of this machine, a token below the
 * largest one seen neither reads nor writes. Check and use are one step, under the kernel's lock on {@code NAME.fence}. A
 * token is on disk before the content that it admits, and the content is replaced as a whole: after a crash the file has the
 * old content or the new one, never a part. Not for network file systems, whose locks and renames may promise less.
 *
 * <p><b>Threads.</b> Any thread may use it; it blocks on I/O, and while somebody else uses the same file.
 */
public final class FencedFile {

    /** The kernel's lock is the process's: within the process these come first. Two files that share one wait in vain. */
    private static final List<ReentrantLock> STRIPES =
            Stream.generate(ReentrantLock::new).limit(64).toList();

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
     * The file at this path, which need not exist yet; its directory must.
     *
     * @throws IOException if the directory does not exist
     */
    public static FencedFile at(Path path) throws IOException {
        return at(path, admission -> {});
    }

    /**
     * The file at this path, with an observer of each answer: to count rejections, or to log them.
     *
     * @param observer called by the asking thread; must not block
     * @throws IOException if the directory does not exist
     */
    public static FencedFile at(Path path, Consumer<? super Admission> observer) throws IOException {
        Objects.requireNonNull(observer, "observer");
        Path absolute = path.toAbsolutePath();
        Path name = absolute.getFileName();
        Path directory = absolute.getParent();
        if (name == null || directory == null) {
            throw new IllegalArgumentException("\"" + path + "\" is not the path of a file");
        }
        return new FencedFile(directory.toRealPath().resolve(name), observer);
    }

    /**
     * Its content, or nothing if it does not exist. The token is registered: reading is contact.
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
     * Replaces its content.
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
        lock.lock();
        try (FileChannel channel = FileChannel.open(
                        fence, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
                FileLock held = channel.lock()) {
            Admission admission = admit(channel, token);
            observer.accept(admission);
            admission.orElseThrow();
            return use.now();
        } finally {
            lock.unlock();
        }
    }

    private Admission admit(FileChannel channel, long token) throws IOException {
        long newest = newest(channel);
        if (token < newest) {
            return new Admission.Rejected(file.toString(), token, newest);
        }
        if (token > newest) {
            // Of fixed length and from the front: if a crash tears it, what is left is not below the old token.
            ByteBuffer text = StandardCharsets.US_ASCII.encode(String.format("%016d%n", token));
            while (text.hasRemaining()) {
                channel.write(text, text.position());
            }
            channel.force(true);
        }
        return new Admission.Admitted(file.toString(), token);
    }

    private long newest(FileChannel channel) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(64);
        while (bytes.hasRemaining() && channel.read(bytes, bytes.position()) > 0) {
            // until the end
        }
        String text = StandardCharsets.US_ASCII.decode(bytes.flip()).toString().strip();
        if (text.isEmpty()) {
            return 0;
        }
        try {
            return Long.parseLong(text);
        } catch (NumberFormatException e) {
            throw new IOException(
                    "\"" + fence + "\" does not contain a fencing token; nobody is let in until a person has put"
                            + " the largest token that was ever used into it",
                    e);
        }
    }

    private void replace(byte[] content) throws IOException {
        Path next = file.resolveSibling(file.getFileName() + ".next");
        try (FileChannel channel = FileChannel.open(
                next, StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.TRUNCATE_EXISTING)) {
            ByteBuffer bytes = ByteBuffer.wrap(content);
            while (bytes.hasRemaining()) {
                channel.write(bytes);
            }
            channel.force(true);
        }
        Files.move(next, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }
}
