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
 * @param generation how often the hold of the entry was converted, 0 to 15: by a downgrade, or by a resumed lease
 * @param writer the public id of the owner token that has taken the place of the writer that made the entry: that of a
 *     ticket, or of a claimant; null if none has
 */
public record EntryData(
        String holderId,
        @Nullable String reader,
        int generation,
        @Nullable String writer) {

    /** The largest generation: the next one would have the token of the next entry. */
    public static final int MAX_GENERATION = 15;

    private static final Pattern OWNED =
            Pattern.compile("(reader|writer):(\\d|1[0-5]):([0-9a-f-]{36}):(.*)", Pattern.DOTALL);

    /** Creates the data of an entry whose writer, if it is one, is the one that made it. */
    public EntryData(String holderId, @Nullable String reader, int generation) {
        this(holderId, reader, generation, null);
    }

    /** The data of an attempt that requests this lock. */
    public static EntryData of(LockName name, OwnerToken owner, String holderId) {
        return new EntryData(holderId, name.isRead() ? owner.publicId() : null, 0);
    }

    /** The data of a writer that becomes a reader under this owner token. */
    public static EntryData downgraded(OwnerToken reader, String holderId) {
        return new EntryData(holderId, reader.publicId(), 1);
    }

    /** The data of this entry once its writer becomes a reader under this owner token. */
    public EntryData downgradedTo(OwnerToken reader, String holderId) {
        return new EntryData(holderId, reader.publicId(), generation + 1);
    }

    /** The data of an entry that this owner token has taken over as a writer. */
    public static EntryData takenOver(OwnerToken writer, String holderId, int generation) {
        return new EntryData(holderId, null, generation, writer.publicId());
    }

    /** Reads the data of an entry that any client may have written. */
    public static EntryData read(byte[] data) {
        // A foreign text is read byte by byte: it may be no UTF-8.
        Matcher matcher = OWNED.matcher(new String(data, StandardCharsets.ISO_8859_1));
        if (!matcher.matches()) {
            return new EntryData(ForeignText.holderId(data), null, 0);
        }
        String holder = ForeignText.holderId(matcher.group(4).getBytes(StandardCharsets.ISO_8859_1));
        int generation = Integer.parseInt(matcher.group(2));
        return matcher.group(1).equals("reader")
                ? new EntryData(holder, matcher.group(3), generation)
                : new EntryData(holder, null, generation, matcher.group(3));
    }

    /** Whether the entry is that of a reader. */
    public boolean isReader() {
        return reader != null;
    }

    /** Whether it is the entry of this owner token as a reader. */
    public boolean isReader(OwnerToken owner) {
        return owner.publicId().equals(reader);
    }

    /** Whether this owner token has taken over the entry as a writer. */
    public boolean isTakenOverBy(OwnerToken owner) {
        return owner.publicId().equals(writer);
    }

    /** The data as they are stored. Those of a writer are its id; a space keeps it from being read as another form. */
    public byte[] bytes() {
        String text;
        if (reader != null) {
            text = "reader:" + generation + ":" + reader + ":" + holderId;
        } else if (writer != null) {
            text = "writer:" + generation + ":" + writer + ":" + holderId;
        } else {
            boolean isAmbiguous = holderId.startsWith("reader:") || holderId.startsWith("writer:");
            text = isAmbiguous ? " " + holderId : holderId;
        }
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
