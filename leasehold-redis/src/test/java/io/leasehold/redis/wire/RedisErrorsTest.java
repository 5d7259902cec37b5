package io.leasehold.redis.wire;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.toolkit.Failure;
import io.lettuce.core.RedisException;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of the known effect of a failed request, by the wording of its error. */
@Tag("quick")
final class RedisErrorsTest {

    private static final String WHAT = "acquire lock \"x\"";

    private final RedisErrors errors = new RedisErrors("redis://h:1");

    private static ServerRefusal answer(String words) {
        return new ServerRefusal(words, null);
    }

    private static void is(
            Failure failure, FailureKind kind, Class<? extends LockStoreException> type, String... words) {
        assertThat(failure.kind()).isEqualTo(kind);
        assertThat(failure.error()).isExactlyInstanceOf(type).hasMessageContainingAll(words);
        assertThat(failure.error().getMessage()).contains("redis://h:1");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "OOM command not allowed      | raise maxmemory, keep maxmemory-policy noeviction",
                "MISCONF Redis is configured  | look at its disk",
                "READONLY You can't write     | it is a replica: connect to its primary",
                "LOADING dataset in memory    | now: LOADING dataset in memory",
                "BUSY Redis is busy           | SCRIPT KILL ends it",
                "CLUSTERDOWN The cluster      | look at CLUSTER INFO",
                "MASTERDOWN Link              | now: MASTERDOWN Link",
                "NOREPLICAS Not enough        | now: NOREPLICAS Not enough",
                "TRYAGAIN Multiple keys       | resharding",
                "MOVED 1 h:2                  | now: MOVED 1 h:2",
                "ASK 1 h:2                    | now: ASK 1 h:2",
                "EXECABORT x                  | now: EXECABORT x",
                "UNBLOCKED x                  | now: UNBLOCKED x",
                "oom in small letters         | raise maxmemory",
                "ERR max number of clients reached | raise maxclients",
                "ERR max number of clients + cluster connections reached | raise maxclients",
            })
    void whatIsRefusedOnlyForNowHadNoEffect(String words, String advice) {
        is(
                errors.of(answer(words), WHAT),
                FailureKind.NO_EFFECT,
                StoreUnavailableException.class,
                "cannot " + WHAT + " now: " + words,
                advice);
        assertThat(RedisErrors.isRefused(answer(words))).isFalse();
    }

    @Test
    void whatHasNoAdviceEndsWithTheServersWords() {
        assertThat(errors.of(answer("LOADING x"), WHAT).error()).hasMessageEndingWith("now: LOADING x");
    }

    @ParameterizedTest
    @ValueSource(strings = {"WRONGTYPE not that kind", "ERR unknown command 'x'", "ERR the OOM is elsewhere", ""})
    void whatIsRefusedForGoodIsPermanent(String words) {
        Failure failure = errors.of(answer(words), WHAT);
        is(failure, FailureKind.PERMANENT, LockStoreException.class, "refuses to " + WHAT + ": " + words);
        assertThat(failure.error().getCause()).isInstanceOf(ServerRefusal.class);
        assertThat(RedisErrors.isRefused(answer(words))).isTrue();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "NOAUTH Authentication required     | requires a password to acquire",
                "WRONGPASS invalid username         | does not accept the user and password",
                "NOPERM no                          | denies permission to acquire lock",
                "ERR The user executing the script can't run this command or subcommand | denies permission",
                "ERR ACL failure in script: no      | denies permission",
                "ERR can't run this command or subcommand | denies permission",
                "ERR No permissions to access a key | The right to use the keys of locks is missing",
                "noperm in small letters            | denies permission",
            })
    void aMissingRightIsPermanent(String words, String text) {
        is(errors.of(answer(words), WHAT), FailureKind.PERMANENT, StoreAccessException.class, text);
    }

    /** The provider and the server do not change credentials at the same moment. */
    @Test
    void aLoginThatAProviderGaveIsAskedForAgain() {
        RedisErrors provided = errors.withProvider();
        for (String code : new String[] {"NOAUTH", "WRONGPASS"}) {
            is(
                    provided.of(answer(code + " no"), WHAT),
                    FailureKind.NO_EFFECT,
                    StoreAccessException.class,
                    "does not accept what the credentials provider gave (" + code + ")");
            assertThat(provided.of("redis://h:1/other").of(answer(code), WHAT).kind())
                    .isEqualTo(FailureKind.NO_EFFECT);
            assertThat(RedisErrors.isRefused(answer(code + " no"))).isFalse();
        }
        is(
                provided.of(answer("NOPERM no"), WHAT),
                FailureKind.PERMANENT,
                StoreAccessException.class,
                "denies permission");
        assertThat(RedisErrors.isRefused(answer("NOPERM no"))).isTrue();
        assertThat(RedisErrors.isRefused(new RedisException("NOPERM no"))).isFalse();
        StoreAccessException why = new StoreAccessException("no login", null);
        assertThat(provided.notConnected(WHAT, why)).isEqualTo(new Failure(FailureKind.NO_EFFECT, why));
        assertThat(errors.notConnected(WHAT, why)).isEqualTo(new Failure(FailureKind.PERMANENT, why));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "@user_script: 3: -OOM no",
                "@user_script:17: OOM no",
                "ERR Error running script (call to f_ab): @user_script:3: -OOM no",
                "ERR Error running script (call to f_ab): @user_script:3: @user_script: 3: -OOM no",
                "OOM no"
            })
    void whatAScriptPassesOnIsReadAsTheCommandsOwn(String words) {
        assertThat(RedisErrors.ofCommand(words)).isEqualTo("OOM no");
        is(errors.answered(words, WHAT), FailureKind.NO_EFFECT, StoreUnavailableException.class, "now: OOM no; its");
    }

    @ParameterizedTest
    @ValueSource(strings = {"Currently not connected. Commands are rejected.", "Connection is closed"})
    void whatWasNotSentHadNoEffect(String words) {
        is(
                errors.of(new CompletionException(new CompletionException(new NotSentException(words, null))), WHAT),
                FailureKind.NO_EFFECT,
                StoreUnavailableException.class,
                "is not connected: cannot " + WHAT);
        assertThat(RedisErrors.isNotConnected(new CompletionException(new NotSentException(words, null))))
                .isEqualTo(words.startsWith("Currently"));
    }

    @Test
    void whatMayHaveBeenCarriedOutIsUnknown() {
        RedisException reset = new RedisException("Connection reset");
        Failure failure = errors.of(new CompletionException(reset), WHAT);
        is(failure, FailureKind.UNKNOWN, StoreUnavailableException.class, "Connection reset", "outcome is unknown");
        assertThat(failure.error().getCause()).isSameAs(reset);
        assertThat(RedisErrors.isNotConnected(reset)).isFalse();
        assertThat(Failure.unwrapped(new CompletionException("alone", null))).hasMessage("alone");
        assertThat(Failure.unwrapped(new RedisException(reset))).hasCause(reset);
        is(errors.timeout(WHAT, 250_000_000), FailureKind.UNKNOWN, StoreUnavailableException.class, "within 250 ms");
        is(
                errors.malformed(WHAT, new IllegalArgumentException("odd")),
                FailureKind.UNKNOWN,
                StoreUnavailableException.class,
                "cannot be read",
                "odd");
    }

    /** Servers repeat the first arguments of a command that they do not know: a password, an owner token. */
    @Test
    void whatAServerRepeatsIsNotShown() {
        String words = "ERR unknown command 'FOO', With Args Beginning With: 'hunter2' ";
        Failure failure = errors.of(answer(words), WHAT);
        assertThat(failure.error())
                .hasMessageEndingWith("unknown command 'FOO'")
                .hasNoCause();
        assertThat(RedisErrors.withoutArguments(words)).isEqualTo("ERR unknown command 'FOO'");
        assertThat(RedisErrors.withoutArguments(", with args beginning with: x"))
                .isEmpty();
        assertThat(RedisErrors.causeOf(words, answer(words))).isNull();
        ServerRefusal harmless = answer("ERR no");
        assertThat(RedisErrors.causeOf("ERR no", harmless)).isSameAs(harmless);
    }

    @Test
    void whatWasNeverSentSaysWhy() {
        is(errors.overloaded(WHAT, 8_192), FailureKind.NO_EFFECT, StoreUnavailableException.class, "8192 requests yet");
        Failure alone = errors.notConnected(WHAT, null);
        is(alone, FailureKind.NO_EFFECT, StoreUnavailableException.class, "not connected to redis://h:1: cannot");
        assertThat(alone.error()).hasMessageEndingWith(WHAT);
        StoreUnavailableException why = new StoreUnavailableException("it is away", null);
        Failure known = errors.notConnected(WHAT, why);
        is(known, FailureKind.NO_EFFECT, StoreUnavailableException.class, "(it is away)");
        assertThat(known.error().getCause()).isSameAs(why);
    }

    @Test
    void keysOfOthersAreNamed() {
        is(
                errors.broken(WHAT, "lock:{x}:fence", "hash"),
                FailureKind.PERMANENT,
                LockStoreException.class,
                "\"lock:{x}:fence\" holds a hash");
        assertThat(errors.notALock(LockName.of("x"), "hash"))
                .hasMessageContaining("hold a hash")
                .hasMessageContaining("the key \"lock:{x}\" by hand");
    }

    @Test
    void accessIsRefusedWithTheRightsThatAreNeeded() {
        assertThat(errors.access("ERR invalid password", WHAT, null)).hasMessageContaining("(WRONGPASS)");
        assertThat(errors.access("ERR odd", WHAT, null))
                .hasMessageContaining("ERR odd. All that Leasehold needs: ACL SETUSER <user> " + RedisErrors.RIGHTS);
        KeyLayout elsewhere = KeyLayout.of("app:{*}");
        String rights = RedisErrors.rights(elsewhere);
        assertThat(RedisErrors.rights(KeyLayout.standard())).isEqualTo(RedisErrors.RIGHTS);
        assertThat(rights).startsWith(elsewhere.keyRights()).doesNotContain("~lock:");
        RedisErrors other = new RedisErrors("h", rights, elsewhere).of("other");
        String channel = "NOPERM no permissions to access one of the channels used as arguments";
        assertThat(other.access(channel, WHAT, null))
                .hasMessageStartingWith("other denies permission")
                .hasMessageContaining("ACL SETUSER <user> &lock:wake:*.")
                .hasMessageContaining(elsewhere.keyRights());
        assertThat(new RedisErrors("h", "+ping", elsewhere).access(channel, WHAT, null))
                .hasMessageContaining("ACL SETUSER <user> &*.");
    }
}
