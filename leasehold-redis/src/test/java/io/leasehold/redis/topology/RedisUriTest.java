package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Leasehold;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.spi.StoreUri;
import io.lettuce.core.RedisCredentials;
import io.lettuce.core.RedisURI;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("quick")
class RedisUriTest {

    private static RedisUri parse(String text) {
        return RedisUri.parse(StoreUri.parse(text));
    }

    private static RedisURI driver(String text) {
        return LettuceUris.of(parse(text), Duration.ofSeconds(2), null);
    }

    @ParameterizedTest
    @CsvSource({
        "redis://localhost,                            redis://localhost:6379",
        "redis://10.0.0.1:7000/3,                      redis://10.0.0.1:7000/3",
        "redis://h:1/0,                                redis://h:1",
        "redis://h:1/,                                 redis://h:1",
        "rediss://h,                                   rediss://h:6379",
        "redis://h?tls=true,                           rediss://h:6379",
        "redis://[::1]:6380,                           redis://[::1]:6380",
        "redis://[::1],                                redis://[::1]:6379",
        "redis://user:p%40ss%3Aw%2Frd@h:1/2,           redis://h:1/2",
        "REDIS://:secret@h,                            redis://h:6379",
        "rediss://h?tls=true&ca=/etc/redis%20ca.pem,   rediss://h:6379",
        "rediss://h?ca=/etc/me@home.pem,               rediss://h:6379"
    })
    void readsAndDescribesWithoutSecrets(String text, String description) {
        assertThat(parse(text)).hasToString(description);
    }

    @Test
    void decodesUserAndPassword() {
        RedisCredentials both = driver("redis://us%3Aer:p%40ss+w%25@h")
                .getCredentialsProvider()
                .resolveCredentials()
                .block();
        RedisCredentials password = driver("redis://:a:b@h")
                .getCredentialsProvider()
                .resolveCredentials()
                .block();

        assertThat(both.getUsername()).isEqualTo("us:er");
        assertThat(new String(both.getPassword())).isEqualTo("p@ss+w%");
        assertThat(password.hasUsername()).isFalse();
        assertThat(new String(password.getPassword())).isEqualTo("a:b");
    }

    @Test
    void passesOnWhatTheDriverNeeds() {
        RedisURI uri = driver("rediss://[::1]:7001/5");

        assertThat(uri.getHost()).isEqualTo("::1");
        assertThat(uri.getPort()).isEqualTo(7001);
        assertThat(uri.getDatabase()).isEqualTo(5);
        assertThat(uri.isSsl()).isTrue();
        assertThat(uri.isVerifyPeer()).isTrue();
    }

    /**
     * The time limit of an application's RedisURI is meant for requests and is a minute by default: tries would pile up
     * at a frozen server.
     */
    @Test
    void aServerThatWasGivenGetsTheTimeOfAHandshake() {
        RedisURI given = RedisURI.builder()
                .withHost("h")
                .withClientName("mine")
                .withAuthentication("app", "hunter2".toCharArray())
                .build();
        assertThat(given.getTimeout()).isEqualTo(Duration.ofMinutes(1));

        RedisURI uri = LettuceUris.of(LettuceUris.read(given, KeyLayout.standard()), Duration.ofSeconds(2), null);

        assertThat(uri.getTimeout()).isEqualTo(Duration.ofSeconds(2));
        assertThat(uri.getClientName()).isEqualTo("mine");
        assertThat(uri.getCredentialsProvider()).isSameAs(given.getCredentialsProvider());
        assertThat(given.getTimeout()).isEqualTo(Duration.ofMinutes(1));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "redis:localhost                | the scheme must be followed by //",
                "redis://                       | is no host",
                "redis://:6379                  | is no host",
                "redis://h:0                    | port \"0\" must be a number from 1 to 65535",
                "redis://h:70000                | port \"70000\"",
                "redis://h:port                 | port \"port\"",
                "redis://h:                     | port \"\"",
                "redis://h/x                    | database \"x\" must be a number",
                "redis://h/-1                   | database \"-1\"",
                "redis://h/1/2                  | database \"1/2\"",
                "redis://h1,h2                  | is no host",
                "redis://h?timeout=3            | unknown option \"timeout\"; known are ca, keys, tls, toldAtOnce, waitReplicas, waitTimeout",
                "redis://h?toldAtOnce=yes       | toldAtOnce=yes must be true or false",
                "redis://h?tls=yes              | tls=yes must be true or false",
                "redis://h?tls=true&tls=true    | given twice",
                "rediss://h?tls=false           | decide",
                "redis://h?ca=/x.pem            | is for TLS",
                "redis://h#frag                 | fragment",
            })
    void refusesWhatItDoesNotUnderstand(String text, String rule) {
        assertThatThrownBy(() -> parse(text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(rule)
                .message()
                .doesNotContain("\n");
    }

    @ParameterizedTest
    @CsvSource({
        "redis://hunter2@h",
        "redis://user:@h",
        "redis://user:hunter2%zz@h",
        "redis://u:hunter2@h:x",
        "redis://u:hunter2@h?nope=1",
        "redis://u:hunter2?x@h",
        "redis://u:x?hunter2@h",
        "redis://u:x?hunter2=y@h",
        "redis://u:hunter2?tls=true@h",
        "redis://u:x?tls=hunter2@h",
        "redis://u:x?ca=hunter2@h",
        "redis://u:x?waitReplicas=hunter2@h",
        "redis://u:hunter2@h#x"
    })
    void neverRepeatsASecret(String text) {
        assertThatThrownBy(() -> parse(text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageNotContaining("hunter2");
    }

    /** Each at both of its bounds. */
    @ParameterizedTest
    @CsvSource({
        "redis://h:65535,     redis://h:65535",
        "redis://h/1048576,   redis://h:6379/1048576",
        "redis://:p/x@h/3,    redis://h:6379/3",
        "redis://h?tls=false, redis://h:6379",
        "redis://[::1,        ''",
        "redis://::1],        ''",
        "redis://[h]x,        ''",
        "redis://h:65536,     ''",
        "redis://h/1048577,   ''",
        "redis://h:9999999999, ''",
    })
    void thePartsHaveTheirBounds(String text, String description) {
        if (description.isEmpty()) {
            assertThatThrownBy(() -> parse(text)).isInstanceOf(IllegalArgumentException.class);
        } else {
            assertThat(parse(text)).hasToString(description);
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "redis://h?keys=a%zz | the keys has a % that is not followed by two hexadecimal digits",
                "redis://:%@h        | the password has a %",
                "redis://h?tls       | tls= must be true or false",
            })
    void aPartThatCannotBeReadIsNamed(String text, String rule) {
        assertThatThrownBy(() -> parse(text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(rule);
    }

    private static RedisCredentials login(RedisURI uri) {
        return uri.getCredentialsProvider().resolveCredentials().block();
    }

    /** Credentials of a provider replace those of the URI, in either form. */
    @Test
    void aLoginThatWasAskedForIsUsed() {
        io.leasehold.Credentials login = io.leasehold.Credentials.of("app", "drawn");
        io.leasehold.Credentials alone = io.leasehold.Credentials.ofPassword("drawn");
        RedisUri named = parse("redis://:p@h");
        RedisUri given = LettuceUris.read(RedisURI.create("redis://:p@h:1"), KeyLayout.standard());
        for (RedisUri one : new RedisUri[] {named, given}) {
            RedisCredentials used = login(LettuceUris.of(one, Duration.ofSeconds(2), login));
            assertThat(used.getUsername()).isEqualTo("app");
            assertThat(new String(used.getPassword())).isEqualTo("drawn");
            RedisCredentials second = login(LettuceUris.of(one, Duration.ofSeconds(2), alone));
            assertThat(second.hasUsername()).isFalse();
            assertThat(new String(second.getPassword())).isEqualTo("drawn");
            assertThat(one.asksForLogin()).isFalse();
            assertThat(one.askingForLogin().asksForLogin()).isTrue();
            assertThat(one.askingForLogin().keys(KeyLayout.of("app:{*}")).asksForLogin())
                    .isTrue();
        }
        assertThat(named.hasPassword()).isTrue();
        assertThat(given.hasPassword()).isFalse();
        assertThat(parse("redis://h").hasPassword()).isFalse();
        assertThat(driver("redis://h").getTimeout()).isEqualTo(Duration.ofSeconds(2));
    }

    /** Another server of the deployment has all settings of the named one. */
    @Test
    void anotherServerIsReachedAsTheOneThatWasNamed() {
        RedisUri named = parse("rediss://u:p@h/3?ca=%2Fx.pem&waitReplicas=2&keys=app:{*}&toldAtOnce=true")
                .at("::1", 7);
        assertThat(named).hasToString("rediss://[::1]:7/3");
        assertThat(named.certificates()).isEqualTo("/x.pem");
        assertThat(named.acknowledgement().replicas()).isEqualTo(2);
        assertThat(named.isToldAtOnce()).isTrue();
        assertThat(parse("redis://h?toldAtOnce=false").isToldAtOnce()).isFalse();
        assertThat(named.keys()).isEqualTo(KeyLayout.of("app:{*}"));
        assertThat(named.host()).isEqualTo("::1");
        assertThat(named.port()).isEqualTo(7);
        assertThat(login(LettuceUris.of(named, Duration.ofSeconds(1), null)).getUsername())
                .isEqualTo("u");

        RedisURI own = RedisURI.builder()
                .withHost("h")
                .withPort(1)
                .withDatabase(4)
                .withSsl(true)
                .withClientName("mine")
                .build();
        RedisUri given = LettuceUris.read(own, KeyLayout.standard());
        assertThat(given).hasToString("rediss://h:1/4");
        for (RedisUri other : new RedisUri[] {given.at("h", 2), given.at("o", 1), given.at("o", 2), given.at("h", 1)}) {
            RedisURI uri = LettuceUris.of(other, Duration.ofSeconds(1), null);
            assertThat(uri.getHost()).isEqualTo(other.host());
            assertThat(uri.getPort()).isEqualTo(other.port());
            assertThat(uri.getClientName()).isEqualTo("mine");
        }
        assertThat(own.getHost()).isEqualTo("h");
        assertThatThrownBy(() -> LettuceUris.read(new RedisURI(), KeyLayout.standard()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("names no host");
    }

    /** Otherwise the client would start, and refuse every lock. */
    @Test
    void alsoALazyClientReportsIt() {
        for (String wrong : List.of("redis://h?tsl=true", "redis-sentinel://h", "redis-cluster://h/1")) {
            assertThatThrownBy(() -> Leasehold.builder().store(wrong).connectLazily())
                    .as(wrong)
                    .isInstanceOf(IllegalArgumentException.class);
        }
        assertThatThrownBy(() -> Leasehold.builder()
                        .store("redis://me:secret@h")
                        .credentials(() -> {
                            throw new AssertionError("no store is opened");
                        })
                        .connectLazily())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("credentials");
    }
}
