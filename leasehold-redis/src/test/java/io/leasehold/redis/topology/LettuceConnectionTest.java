package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.redis.wire.NotSentException;
import io.leasehold.redis.wire.ServerRefusal;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisConnectionException;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisNoScriptException;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of the meaning of Lettuce's exceptions. */
@Tag("quick")
final class LettuceConnectionTest {

    @Test
    void aServersErrorIsARefusalInItsWords() {
        RedisCommandExecutionException heard = new RedisCommandExecutionException("OOM no");
        assertThat(LettuceConnection.meaning(new CompletionException(heard)))
                .isInstanceOf(ServerRefusal.class)
                .hasMessage("OOM no")
                .hasCause(heard);
        assertThat(LettuceConnection.meaning(new RedisNoScriptException("NOSCRIPT No matching script")))
                .isInstanceOfSatisfying(
                        ServerRefusal.class,
                        refusal -> assertThat(refusal.isOfUnknownScript()).isTrue());
        assertThat(new ServerRefusal("OOM no", heard).isOfUnknownScript()).isFalse();
    }

    @ParameterizedTest
    @ValueSource(strings = {"Currently not connected. Commands are rejected.", "Connection is closed"})
    void whatItDidNotSendIsToldSo(String words) {
        assertThat(LettuceConnection.meaning(new RedisException(words)))
                .isInstanceOf(NotSentException.class)
                .hasMessage(words);
    }

    @Test
    void anythingElseStaysAsItIs() {
        RedisException reset = new RedisException("Connection reset");
        assertThat(LettuceConnection.meaning(new CompletionException(reset))).isSameAs(reset);
        assertThat(LettuceConnection.meaning(null)).isNull();
        ServerRefusal refusal = new ServerRefusal("OOM no", null);
        assertThat(LettuceConnection.meaning(refusal)).isSameAs(refusal);
    }

    @Test
    void aRefusedLoginIsFoundBelowOthers() {
        Throwable below = new RedisConnectionException("no", new RedisCommandExecutionException("WRONGPASS no"));
        assertThat(LettuceConnection.meaningOfNoConnection(new CompletionException(below)))
                .isInstanceOf(ServerRefusal.class)
                .hasMessage("WRONGPASS no");
        RedisException other = new RedisException("no");
        assertThat(LettuceConnection.meaningOfNoConnection(new CompletionException(other)))
                .isSameAs(other);
    }
}
