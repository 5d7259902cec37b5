package io.leasehold.etcd;

import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.options.GetOption;
import io.leasehold.Holder;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;

/** Reads what others wrote: who holds, and whether a key was given back or lost. */
final class Heads {

    private static final int MOST_CHARACTERS = 256;

    private final Etcd etcd;
    private final Keys keys;
    private final long tokenBase;

    Heads(Etcd etcd, Keys keys, long tokenBase) {
        this.etcd = etcd;
        this.keys = keys;
        this.tokenBase = tokenBase;
    }

    Holder holder(KeyValue first) {
        return new Holder(
                idIn(first.getValue().getBytes()), null, OptionalLong.of(tokenBase + first.getCreateRevision()));
    }

    /** What a stranger wrote need not be text. */
    private static String idIn(byte[] data) {
        try {
            String text = StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(data))
                    .toString();
            boolean readable = !text.isBlank()
                    && text.length() <= MOST_CHARACTERS
                    && text.chars().noneMatch(Character::isISOControl);
            return readable ? text : "foreign";
        } catch (CharacterCodingException e) {
            return "foreign";
        }
    }

    /** Whether the deletion of this revision was a release: then the same step wrote the mark. */
    CompletableFuture<Boolean> wasGivenBack(long deletedAtRevision) {
        GetOption then = GetOption.builder().withRevision(deletedAtRevision).build();
        return etcd.get(keys.released(), then)
                .thenApply(found -> Etcd.only(found)
                        .filter(mark -> mark.getModRevision() == deletedAtRevision)
                        .isPresent());
    }
}
