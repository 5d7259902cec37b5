package io.leasehold.spi.toolkit;

import io.leasehold.LockName;
import io.leasehold.spi.OwnerToken;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The data of an entry in a store's queue: who holds or waits with it, and as what. Data of any other form are those of a
 * writer, so clients that know no readers are writers. Immutable.
 *
 * @param holderId the public id of the holder
 * @param reader the public id of the reader's owner token; null for a writer
 * @param generation 1 if a reader was a writer before, else 0
 */
public record EntryData(String holderId, @Nullable String reader, int generation) {

    private static final Pattern READER = Pattern.compile("reader:([01]):([0-9a-f-]{36}):(.*)", Pattern.DOTALL);

    /** The data of an attempt that requests this lock. */
    public static EntryData of(LockName name, OwnerToken owner, String holderId) {
        return new EntryData(holderId, name.isRead() ? owner.publicId() : null, 0);
    }

    /** The data of a writer that becomes a reader under this owner token. */
    public static EntryData downgraded(OwnerToken reader, String holderId) {
        return new EntryData(holderId, reader.publicId(), 1);
    }

    /** Reads the data of an entry that any client may have written. */
    public static EntryData read(byte[] data) {
        // A foreign text is read byte by byte: it may be no UTF-8.
        Matcher matcher = READER.matcher(new String(data, StandardCharsets.ISO_8859_1));
        if (!matcher.matches()) {
            return new EntryData(ForeignText.holderId(data), null, 0);
        }
        byte[] holder = matcher.group(3).getBytes(StandardCharsets.ISO_8859_1);
        return new EntryData(ForeignText.holderId(holder), matcher.group(2), Integer.parseInt(matcher.group(1)));
    }

    /** Whether the entry is that of a reader. */
    public boolean isReader() {
        return reader != null;
    }

    /** Whether it is the entry of this owner token as a reader. */
    public boolean isReader(OwnerToken owner) {
        return owner.publicId().equals(reader);
    }

    /** The data as they are stored. Those of a writer are its id; a space keeps it from being read as a reader's. */
    public byte[] bytes() {
        if (reader != null) {
            return ("reader:" + generation + ":" + reader + ":" + holderId).getBytes(StandardCharsets.UTF_8);
        }
        return (holderId.startsWith("reader:") ? " " + holderId : holderId).getBytes(StandardCharsets.UTF_8);
    }
}
