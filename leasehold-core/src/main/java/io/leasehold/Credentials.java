package io.leasehold;

import java.nio.CharBuffer;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The login for a store: a password or token, and a user where the store has users. Immutable; {@link #toString()} shows neither.
 */
public final class Credentials {

    private final @Nullable String user;
    private final char[] password;

    private Credentials(@Nullable String user, char[] password) {
        this.user = user;
        this.password = password;
    }

    /**
     * A user with its password or token.
     *
     * @throws IllegalArgumentException if one of them is empty
     */
    public static Credentials of(String user, CharSequence password) {
        if (Objects.requireNonNull(user, "user").isEmpty()) {
            throw new IllegalArgumentException("the user is empty; for a password alone use ofPassword");
        }
        return new Credentials(user, chars(password));
    }

    /**
     * A password or token alone, for a store that needs no user name, such as Redis with its default user.
     *
     * @throws IllegalArgumentException if it is empty
     */
    public static Credentials ofPassword(CharSequence password) {
        return new Credentials(null, chars(password));
    }

    private static char[] chars(CharSequence password) {
        if (password.length() == 0) {
            throw new IllegalArgumentException("the password is empty");
        }
        char[] copy = new char[password.length()];
        CharBuffer.wrap(password).get(copy);
        return copy;
    }

    /** The user, or null for a password alone. */
    public @Nullable String user() {
        return user;
    }

    /** A copy of the password, which must not be displayed or logged. */
    public char[] password() {
        return password.clone();
    }

    /** Shows neither user nor password. */
    @Override
    public String toString() {
        return "Credentials[***]";
    }
}
