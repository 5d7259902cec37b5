package io.leasehold.spi;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.spi.toolkit.EntryData;
import io.leasehold.spi.toolkit.TokenBase;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The kind of an entry in a queue stands in its data, and data of another form are those of a writer. */
@Tag("quick")
final class EntryDataTest {

    private static final OwnerToken OWNER = OwnerToken.fromHex("0123456789abcdef0123456789abcdef01234567");
    private static final LockName LOCK = LockName.exactly("a");

    private static String text(EntryData data) {
        return new String(data.bytes(), StandardCharsets.UTF_8);
    }

    private static EntryData read(String text) {
        return EntryData.read(text.getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void aWriterIsWrittenAsBefore() {
        EntryData writer = EntryData.of(LOCK, OWNER, "host/1/c0ffee/zürich");
        assertThat(text(writer)).isEqualTo("host/1/c0ffee/zürich");
        assertThat(read(text(writer))).isEqualTo(writer);
        assertThat(writer.isReader()).isFalse();
    }

    @Test
    void aReaderNamesItsOwnerTokenAndItsGeneration() {
        EntryData reader = EntryData.of(LOCK.asRead(), OWNER, "host/1/c0ffee/zürich");
        assertThat(text(reader)).isEqualTo("reader:0:" + OWNER.publicId() + ":host/1/c0ffee/zürich");
        assertThat(read(text(reader))).isEqualTo(reader);
        assertThat(reader.isReader(OWNER)).isTrue();
        EntryData downgraded = EntryData.downgraded(OWNER, "host/1/c0ffee");
        assertThat(text(downgraded)).startsWith("reader:1:");
        assertThat(read(text(downgraded)).generation()).isEqualTo(1);
    }

    @Test
    void anEntryThatWasTakenOverNamesItsOwnerTokenAndItsGeneration() {
        EntryData writer = EntryData.takenOver(OWNER, "host/1/c0ffee", 15);
        assertThat(text(writer)).isEqualTo("writer:15:" + OWNER.publicId() + ":host/1/c0ffee");
        assertThat(read(text(writer))).isEqualTo(writer);
        assertThat(writer.isReader()).isFalse();
        assertThat(writer.isTakenOverBy(OWNER)).isTrue();
        assertThat(EntryData.of(LOCK, OWNER, "x").isTakenOverBy(OWNER)).isFalse();
        EntryData reader = EntryData.takenOver(OWNER, "x", 2).downgradedTo(OWNER, "y");
        assertThat(text(reader)).isEqualTo("reader:3:" + OWNER.publicId() + ":y");
        EntryData plain = EntryData.of(LOCK, OWNER, text(writer));
        assertThat(read(text(plain)).writer()).as("a holder id of that form").isNull();
    }

    @Test
    void aHolderIdThatLooksLikeAReaderIsAWriter() {
        EntryData writer = EntryData.of(LOCK, OWNER, text(EntryData.of(LOCK.asRead(), OWNER, "x")));
        assertThat(read(text(writer)).isReader()).isFalse();
    }

    @Test
    void foreignDataAreThoseOfAWriter() {
        assertThat(read("").isReader()).isFalse();
        assertThat(read("reader").isReader()).isFalse();
        assertThat(read("reader:16:" + OWNER.publicId() + ":x").isReader()).isFalse();
        assertThat(read("reader:0:" + OWNER.publicId()).isReader()).isFalse();
        assertThat(EntryData.read(new byte[] {(byte) 0xff, 0, 1})).isEqualTo(new EntryData("foreign", null, 0));
    }

    @Test
    void aReaderWithAnIdThatIsNoTextIsForeign() {
        byte[] data = text(EntryData.of(LOCK.asRead(), OWNER, "x")).getBytes(StandardCharsets.UTF_8);
        data[data.length - 1] = (byte) 0xff;
        assertThat(EntryData.read(data)).isEqualTo(new EntryData("foreign", OWNER.publicId(), 0));
    }

    /** The vectors of the wire format. */
    @Test
    void theDocumentSaysWhatIsWritten() throws IOException {
        Matcher block = Pattern.compile("(?s)```entries\\n(.*?)```")
                .matcher(Files.readString(Path.of("..", "docs", "wire-format.md")));
        assertThat(block.find()).isTrue();
        for (String line : block.group(1).lines().toList()) {
            String[] part = line.split(" \\| ");
            assertThat(written(part)).as(line).isEqualTo(part[part.length - 1]);
        }
    }

    private static String written(String[] part) {
        return switch (part[0]) {
            case "writer" -> text(EntryData.of(LOCK, OwnerToken.fromHex(part[1]), part[2]));
            case "reader" -> text(EntryData.of(LOCK.asRead(), OwnerToken.fromHex(part[1]), part[2]));
            case "downgraded" -> text(EntryData.downgraded(OwnerToken.fromHex(part[1]), part[2]));
            case "taken-over" ->
                text(EntryData.takenOver(OwnerToken.fromHex(part[1]), part[2], Integer.parseInt(part[3])));
            case "text" -> new TokenBase(Long.parseLong(part[1]), Boolean.parseBoolean(part[2]), "").text();
            case "token" ->
                String.valueOf(new TokenBase(Long.parseLong(part[2]), Boolean.parseBoolean(part[3]), "")
                        .token(Long.parseLong(part[1]), Integer.parseInt(part[4])));
            default -> "unknown";
        };
    }
}
