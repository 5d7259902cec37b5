package io.leasehold;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Gives the credentials of a store whenever a connection to it is made, so that they may change while leases are held: a
 * password that is rotated, a user made for an hour, a token that ends.
 *
 * <pre>{@code
 * LockClient locks = Leasehold.builder()
 *         .store("redis://db1")
 *         .credentials(CredentialsProvider.passwordFile("app", Path.of("/run/secrets/redis")))
 *         .connect();
 * }</pre>
 *
 * <p><b>When it is asked.</b> At every connect and every new log-in, and never for one that goes on: a connection that the store
 * leaves open is left open. So a rotation is: the provider gives the new credentials, the old ones are withdrawn at the store, and
 * the connections that it ends are made again with the new ones. Leases are renewed over those, and waiters go on. Where the store
 * does not accept what the provider gave, after it has once let the client in, it is asked again from time to time; an attempt
 * ends with that error when its patience does.
 *
 * <p><b>Threads.</b> It is asked on a thread for callbacks, never on one that brings answers, runs timers or belongs to a caller,
 * and may block: nothing waits for it but connections, so it should answer within a second or two, and keep what it fetched
 * for as long as that is good. After ten seconds it counts as failed. One client asks once at a time, and one that hangs is not
 * asked again before it has answered. Several connections may be made with one answer.
 *
 * <p><b>Errors.</b> What it throws counts as a store that cannot be reached now: {@link StoreUnavailableException} when a client is
 * opened, another try later. Its message is not repeated, since it may hold a secret; it is the cause.
 */
@FunctionalInterface
public interface CredentialsProvider {

    /**
     * The credentials for a connection that is being made now.
     *
     * @throws Exception if there are none at the moment
     */
    Credentials credentials() throws Exception;

    /**
     * The password in a file, which is read each time: as Kubernetes, systemd or an agent of Vault lays it down, and changes it. It
     * is UTF-8; one line feed at its end, with or without carriage return, is not part of it.
     *
     * @param user whose it is, or null for a password alone
     */
    static CredentialsProvider passwordFile(@Nullable String user, Path file) {
        Objects.requireNonNull(file, "file");
        return () -> {
            String text;
            try {
                text = Files.readString(file, StandardCharsets.UTF_8);
            } catch (IOException e) {
                throw new StoreUnavailableException(
                        "the password file " + file + " cannot be read as UTF-8 ("
                                + e.getClass().getSimpleName() + ")",
                        null);
            }
            String password = text.endsWith("\r\n")
                    ? text.substring(0, text.length() - 2)
                    : text.endsWith("\n") ? text.substring(0, text.length() - 1) : text;
            if (password.isEmpty()) {
                throw new StoreUnavailableException("the password file " + file + " is empty", null);
            }
            return user == null ? Credentials.ofPassword(password) : Credentials.of(user, password);
        };
    }
}
