package io.leasehold.spi.toolkit;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/** Displays foreign data in place of a holder id, which may be long or not text at all. */
public final class ForeignText {

    /** The replacement for data that is not a holder id. */
    public static final String FOREIGN = "foreign";

    private static final int MAX_CHARACTERS = 256;

    private ForeignText() {}

    /** The text if it can be displayed as a holder id, else {@link #FOREIGN}. */
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
