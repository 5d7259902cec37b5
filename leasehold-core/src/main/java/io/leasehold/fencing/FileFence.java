package io.leasehold.fencing;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFilePermission;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The tokens of a file: the largest in {@code NAME.fence}, that of the newest writer in {@code NAME.fence-writer}.
 *
 * <p>The second number counts only while a tab follows the first one. A writer removes the tab together with its write
 * of the first number and touches no other file. So does a version of this class that knows no readers: it takes the
 * tab for a blank, and writes a line break in its place.
 *
 * <p>A reader writes the second file before the tab. After a crash between the two, the newest token counts as a
 * writer's, which is safe. So it does, too, if the second file cannot be read or written.
 */
final class FileFence {

    private static final int MAX_BYTES = 64;
    private static final int OWN_BYTES = 17;
    private static final int MAX_TRIES = 100;
    private static final Pattern DIGITS = Pattern.compile("[0-9]{1,16}");
    private static final Pattern OF_READERS = Pattern.compile("([0-9]{16})\t\\s*");
    private static final char WRITTEN = '\n';
    private static final char READ = '\t';

    private final Path file;
    private final Path fence;
    private final Path writer;

    FileFence(Path file) {
        this.file = file;
        this.fence = file.resolveSibling(file.getFileName() + ".fence");
        this.writer = file.resolveSibling(file.getFileName() + ".fence-writer");
    }

    Path path() {
        return fence;
    }

    /** Opens the fence, whose kernel lock the caller takes before any other call. */
    FileChannel open() throws IOException {
        return open(fence, 0);
    }

    private FileChannel open(Path which, long first) throws IOException {
        for (int tries = 1; tries <= MAX_TRIES; tries++) {
            try {
                return FileChannel.open(which, StandardOpenOption.READ, StandardOpenOption.WRITE);
            } catch (NoSuchFileException none) {
                make(which, first);
            }
        }
        throw new IOException("\"" + which + "\" exists and cannot be opened: it may be a symbolic link to nothing");
    }

    /** Creates a file of the fence together with its first number: an empty fence has lost its number. */
    private void make(Path which, long first) throws IOException {
        Path made = Files.createTempFile(file.getParent(), which.getFileName() + "-", ".new");
        // Uses only the name of a temporary file: the permissions must be those of any new file.
        Files.delete(made);
        try {
            try (FileChannel channel =
                    FileChannel.open(made, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
                put(channel, first, WRITTEN);
            }
            // Each process that can write the first file must be able to write the second.
            Path like = which.equals(writer) ? fence : file;
            if (Files.exists(like)) {
                PosixFileAttributeView rights = FileRights.keep(like, made);
                if (rights != null) {
                    // Even if the file itself can only be replaced.
                    Set<PosixFilePermission> all = rights.readAttributes().permissions();
                    all.addAll(Set.of(PosixFilePermission.OWNER_READ, PosixFilePermission.OWNER_WRITE));
                    rights.setPermissions(all);
                }
            }
            link(which, made, first);
        } finally {
            Files.deleteIfExists(made);
        }
        forceDirectory();
    }

    private void link(Path which, Path made, long first) throws IOException {
        try {
            // Unlike a rename it never replaces a file that another process has created meanwhile.
            Files.createLink(which, made);
        } catch (FileAlreadyExistsException another) {
            // This process uses that one, too.
        } catch (UnsupportedOperationException | FileSystemException noLinks) {
            makeInPlace(which, first);
        }
    }

    /**
     * Creates the file on a file system without links. A crash at this moment leaves it empty, and an operator must
     * delete the fence.
     */
    private void makeInPlace(Path which, long first) throws IOException {
        try (FileChannel channel = FileChannel.open(which, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
                FileLock held = channel.lock()) {
            put(channel, first, WRITTEN);
        } catch (FileAlreadyExistsException another) {
            // This process uses that one, too.
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

    /** Decides about a token; an admitted one is on disk when this method returns. */
    Admission admit(FileChannel channel, long token, Access access) throws IOException {
        Kept kept = kept(channel, access);
        TokenPair before = kept.pair();
        Admission admission = before.decide(file.toString(), token, access);
        IOException unread = kept.unread();
        if (unread != null && !admission.isAdmitted()) {
            // Without the newest writer's token, this would be an answer from an error.
            throw unread;
        }
        TokenPair after = before.after(token, access);
        if (!after.equals(before)) {
            keep(channel, kept, after);
        }
        return admission;
    }

    private void keep(FileChannel channel, Kept kept, TokenPair after) throws IOException {
        boolean isReaders = after.any() != after.writer()
                && (after.writer() == kept.writer() || isNoted(channel, kept, after.writer()));
        put(channel, after.any(), isReaders ? READ : WRITTEN);
    }

    /** Writes the second file, before the mark by which it counts; false if that is impossible. */
    private boolean isNoted(FileChannel channel, Kept kept, long newestWriter) throws IOException {
        if (kept.isMarked()) {
            // Whatever a crash leaves in the second file must not count.
            put(channel, kept.any(), WRITTEN);
        }
        try (FileChannel second = open(writer, newestWriter)) {
            second.truncate(OWN_BYTES);
            put(second, newestWriter, WRITTEN);
            return true;
        } catch (ClosedChannelException interrupted) {
            throw interrupted;
        } catch (IOException unusable) {
            // The reader counts as a writer.
            return false;
        }
    }

    /** Writes a fixed length from the start: if a crash tears it, the result is not below the old token. */
    private static void put(FileChannel channel, long token, char end) throws IOException {
        // Uses the digits that the reader expects: the default locale may have others.
        putAll(channel, StandardCharsets.US_ASCII.encode(String.format(Locale.ROOT, "%016d%c", token, end)));
    }

    static void putAll(FileChannel channel, ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            channel.write(bytes, bytes.position());
        }
        channel.force(true);
    }

    /**
     * The content of the files.
     *
     * @param any the largest token
     * @param isMarked whether a reader wrote it
     * @param writer that of the newest writer, or negative if the second file does not count
     * @param unread the reason why the second file could not be read, or null
     */
    private record Kept(
            long any,
            boolean isMarked,
            long writer,
            @Nullable IOException unread) {
        TokenPair pair() {
            return writer < 0 ? TokenPair.of(any) : new TokenPair(any, writer);
        }
    }

    private Kept kept(FileChannel channel, Access access) throws IOException {
        String text = text(channel);
        long any = number(text.strip());
        if (any < 0 || channel.size() > MAX_BYTES) {
            throw new IOException(
                    "\"" + fence + "\" does not contain a fencing token" + (text.isBlank() ? ": it is empty" : "")
                            + "; no holder is admitted until an operator has written the largest token that was ever"
                            + " used into the file");
        }
        boolean isMarked = OF_READERS.matcher(text).matches();
        if (isMarked && access == Access.WRITE) {
            // For a writer the second file does not matter; the number differs, so that the writer removes the mark.
            return new Kept(any, true, 0, null);
        }
        try {
            long below = isMarked ? writerOnDisk() : -1;
            return new Kept(any, isMarked, below <= any ? below : -1, null);
        } catch (IOException unread) {
            return new Kept(any, isMarked, -1, unread);
        }
    }

    /** Negative if the file does not exist or contains something else: the newest token then counts as a writer's. */
    private long writerOnDisk() throws IOException {
        try (FileChannel channel = FileChannel.open(writer, StandardOpenOption.READ)) {
            String text = text(channel);
            // Of the full length, since a crash may have torn it.
            return text.matches("[0-9]{16}\\n") ? number(text.strip()) : -1;
        } catch (NoSuchFileException lost) {
            return -1;
        }
    }

    private static String text(FileChannel channel) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(MAX_BYTES);
        while (bytes.hasRemaining() && channel.read(bytes, bytes.position()) > 0) {
            // until the end
        }
        return StandardCharsets.US_ASCII.decode(bytes.flip()).toString();
    }

    /** Negative if the text is no token. */
    private static long number(String text) {
        long number = DIGITS.matcher(text).matches() ? Long.parseLong(text) : -1;
        return number > FencingToken.LARGEST ? -1 : number;
    }
}
