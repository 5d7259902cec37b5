package io.leasehold.cli.process;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.Charset;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.IllegalCharsetNameException;
import java.nio.charset.StandardCharsets;
import java.nio.charset.UnsupportedCharsetException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;

/**
 * Words of a command line as the typed bytes. The JVM decodes text by the charset of its locale, which replaces unknown
 * characters by question marks: two names become one. Immutable.
 */
public final class TypedWords {

    private final List<byte[]> words;

    private TypedWords(List<byte[]> words) {
        this.words = words;
    }

    /** These texts, in UTF-8. */
    public static TypedWords ofTexts(List<String> texts) {
        return new TypedWords(texts.stream()
                .map(text -> text.getBytes(StandardCharsets.UTF_8))
                .toList());
    }

    /** Parses words that each end with a zero byte, as the kernel keeps them. */
    public static TypedWords ofZeroTerminated(byte[] bytes) {
        List<byte[]> words = new ArrayList<>();
        int start = 0;
        for (int i = 0; i < bytes.length; i++) {
            if (bytes[i] == 0) {
                words.add(Arrays.copyOfRange(bytes, start, i));
                start = i + 1;
            }
        }
        return new TypedWords(words);
    }

    /** The number of words. */
    public int size() {
        return words.size();
    }

    /** The words from this index on. */
    public TypedWords from(int index) {
        return new TypedWords(words.subList(index, words.size()));
    }

    /** The words as text; invalid UTF-8 becomes U+FFFD. */
    public List<String> texts() {
        return words.stream()
                .map(word -> new String(word, StandardCharsets.UTF_8))
                .toList();
    }

    /** Whether this word is valid UTF-8. */
    public boolean isText(int index) {
        try {
            StandardCharsets.UTF_8
                    .newDecoder()
                    .onMalformedInput(CodingErrorAction.REPORT)
                    .onUnmappableCharacter(CodingErrorAction.REPORT)
                    .decode(ByteBuffer.wrap(words.get(index)));
            return true;
        } catch (CharacterCodingException e) {
            return false;
        }
    }

    /** Whether these may be the JVM's texts for the words: ASCII is the same in every charset of a locale. */
    boolean mayBe(List<String> texts) {
        if (texts.size() != words.size()) {
            return false;
        }
        for (int i = 0; i < words.size(); i++) {
            if (isAscii(words.get(i)) && !texts.get(i).equals(new String(words.get(i), StandardCharsets.US_ASCII))) {
                return false;
            }
        }
        return true;
    }

    private static boolean isAscii(byte[] word) {
        for (byte b : word) {
            if (b < 0) {
                return false;
            }
        }
        return true;
    }

    /** The words in hexadecimal digits. */
    List<String> hex() {
        return words.stream().map(HexFormat.of()::formatHex).toList();
    }

    /** The words as octal escapes of printf(1). */
    List<String> octal() {
        List<String> all = new ArrayList<>();
        for (byte[] word : words) {
            StringBuilder escaped = new StringBuilder();
            for (byte b : word) {
                escaped.append('\\');
                escaped.append((char) ('0' + ((b >> 6) & 3)));
                escaped.append((char) ('0' + ((b >> 3) & 7)));
                escaped.append((char) ('0' + (b & 7)));
            }
            all.add(escaped.toString());
        }
        return all;
    }

    /** Whether this JVM passes all of them unchanged to its child processes. */
    boolean areSpelledByThisJvm() {
        for (byte[] word : words) {
            if (!isAscii(word) && !isSpelled(word)) {
                return false;
            }
        }
        return true;
    }

    /** JDK 17 encodes by its default charset, later ones by the locale's: both must be exact. */
    private static boolean isSpelled(byte[] word) {
        String text = new String(word, StandardCharsets.UTF_8);
        return Arrays.equals(word, text.getBytes(StandardCharsets.UTF_8))
                && Arrays.equals(word, text.getBytes(Charset.defaultCharset()))
                && Arrays.equals(word, text.getBytes(ofTheLocale()));
    }

    private static Charset ofTheLocale() {
        try {
            return Charset.forName(System.getProperty("sun.jnu.encoding", "US-ASCII"));
        } catch (IllegalCharsetNameException | UnsupportedCharsetException e) {
            return StandardCharsets.US_ASCII;
        }
    }
}
