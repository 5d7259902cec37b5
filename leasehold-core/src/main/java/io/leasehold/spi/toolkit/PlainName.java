package io.leasehold.spi.toolkit;

import io.leasehold.LockName;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Optional;

/**
 * Encodes lock names as one path segment, for stores whose keys must not contain every character.
 *
 * <p>The form consists of the bytes of the name in UTF-8. ASCII letters, ASCII digits and <code>. _ - :</code> stand
 * for themselves, except a dot at the beginning; every other byte is <code>%</code> and two upper-case hexadecimal
 * digits. Each name has one such form, and no two names share it. No form is <code>.</code> or <code>..</code>, and
 * none contains <code>@</code>, which is reserved for keys that are not locks.
 */
public final class PlainName {

    private static final HexFormat HEX = HexFormat.of().withUpperCase();

    private PlainName() {}

    /** Encodes a name. */
    public static String of(LockName name) {
        byte[] bytes = name.text().getBytes(StandardCharsets.UTF_8);
        StringBuilder out = new StringBuilder(bytes.length);
        for (int i = 0; i < bytes.length; i++) {
            char c = (char) (bytes[i] & 0xff);
            boolean dotFirst = c == '.' && i == 0;
            if (isPlain(c) && !dotFirst) {
                out.append(c);
            } else {
                out.append('%').append(HEX.toHexDigits(bytes[i]));
            }
        }
        return out.toString();
    }

    private static boolean isPlain(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || "._-:".indexOf(c) >= 0;
    }

    /** Decodes a name; empty if the text is not the form of one. */
    public static Optional<LockName> read(String plain) {
        byte[] bytes = new byte[plain.length()];
        int length = 0;
        for (int i = 0; i < plain.length(); i++) {
            char c = plain.charAt(i);
            if (c == '%' && i + 2 < plain.length() && isHex(plain.charAt(i + 1)) && isHex(plain.charAt(i + 2))) {
                bytes[length++] = (byte) HexFormat.fromHexDigits(plain, i + 1, i + 3);
                i += 2;
            } else if (c < 0x80) {
                bytes[length++] = (byte) c;
            } else {
                return Optional.empty();
            }
        }
        try {
            LockName name = LockName.exactly(new String(bytes, 0, length, StandardCharsets.UTF_8));
            return of(name).equals(plain) ? Optional.of(name) : Optional.empty();
        } catch (IllegalArgumentException notAName) {
            return Optional.empty();
        }
    }

    private static boolean isHex(char c) {
        return Character.digit(c, 16) >= 0 && c < 0x80;
    }
}
