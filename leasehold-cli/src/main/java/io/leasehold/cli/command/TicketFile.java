package io.leasehold.cli.command;

import io.leasehold.LeaseTicket;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;

/**
 * A file that a ticket is written to: only its owner may read it, and it has its name only when it is complete. Its
 * directory is checked when the object is created, long before the ticket exists.
 */
final class TicketFile {

    /** Standard input instead of a file. */
    static final String STANDARD_INPUT = "-";

    /** More than the longest ticket: a name of 1,024 bytes, and the description of a store. */
    private static final int LONGEST = 16_384;

    private final Path target;
    private final Path directory;

    private TicketFile(Path target, Path directory) {
        this.target = target;
        this.directory = directory;
    }

    /**
     * Checks that the target can be written. Nothing is created yet: a signal may still end the process. Only a regular
     * file is ever replaced: of a link, it would be the link and not its file, and of {@code /dev/stdout} the device.
     */
    static TicketFile prepare(String target) throws IOException {
        Path path = Path.of(target).toAbsolutePath();
        Path directory = path.getParent();
        boolean isOther =
                Files.exists(path, LinkOption.NOFOLLOW_LINKS) && !Files.isRegularFile(path, LinkOption.NOFOLLOW_LINKS);
        if (directory == null || isOther) {
            throw new FileSystemException(
                    target, null, "it is not a regular file; name a file that this run may create or replace");
        }
        if (!Files.isDirectory(directory)) {
            throw new NoSuchFileException(directory.toString());
        }
        if (!Files.isWritable(directory)) {
            throw new AccessDeniedException(directory.toString());
        }
        return new TicketFile(path, directory);
    }

    /** Deletes the file of an earlier run: a reader must not take its ticket for that of this run. */
    void deleteOld() throws IOException {
        Files.deleteIfExists(target);
    }

    /** Writes the ticket; after that, the target has it, or is unchanged. */
    void write(LeaseTicket ticket) throws IOException {
        Path draft = Files.createTempFile(directory, ".leasehold-ticket", ".tmp", rights());
        try {
            try (FileChannel channel = FileChannel.open(draft, StandardOpenOption.WRITE)) {
                ByteBuffer text = ByteBuffer.wrap((ticket.text() + "\n").getBytes(StandardCharsets.UTF_8));
                while (text.hasRemaining()) {
                    channel.write(text);
                }
                channel.force(true);
            }
            try {
                Files.move(draft, target, StandardCopyOption.ATOMIC_MOVE);
            } catch (AtomicMoveNotSupportedException e) {
                Files.move(draft, target, StandardCopyOption.REPLACE_EXISTING);
            }
        } finally {
            Files.deleteIfExists(draft);
        }
    }

    private FileAttribute<?>[] rights() {
        boolean hasRights = target.getFileSystem().supportedFileAttributeViews().contains("posix");
        return hasRights
                ? new FileAttribute<?>[] {
                    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"))
                }
                : new FileAttribute<?>[0];
    }

    /** Reads the ticket in a file, or in the first line of standard input. */
    static LeaseTicket read(String source) throws IOException {
        if (source.equals(STANDARD_INPUT)) {
            // Without a buffer: the rest of standard input belongs to the command.
            try (InputStream in = new FileInputStream(FileDescriptor.in) {
                @Override
                public void close() {
                    // The command inherits the descriptor.
                }
            }) {
                return LeaseTicket.parse(firstLine(in));
            }
        }
        try (InputStream in = Files.newInputStream(Path.of(source))) {
            return LeaseTicket.parse(firstLine(in));
        }
    }

    private static String firstLine(InputStream in) throws IOException {
        byte[] line = new byte[LONGEST];
        int length = 0;
        for (int next = in.read(); next >= 0 && next != '\n' && length < LONGEST; next = in.read()) {
            line[length++] = (byte) next;
        }
        return new String(line, 0, length, StandardCharsets.UTF_8);
    }
}
