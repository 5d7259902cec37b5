package io.leasehold.spi.toolkit;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/** What others wrote where a holder id is expected: it need not be text, and need not be short. */
public final class ForeignText {

    /** What is shown in place of a holder id that is none. */
    public static final String FOREIGN = "foreign";

    private static final int MAX_CHARACTERS = 256;

    private ForeignText() {}

    /** The text if it can be shown to people as a holder id, else {@link #FOREIGN}. */
    public static String holderId(byte[] data) {
        try {
            String text = StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(data))
                    .toString();
            boolean readable = !text.isBlank()
                    && text.length() <= MAX_CHARACTERS
                    && text.chars().noneMatch(Character::isISOControl);
            return readable ? text : FOREIGN;
        } catch (CharacterCodingException e) {
            return FOREIGN;
        }
    }
}
