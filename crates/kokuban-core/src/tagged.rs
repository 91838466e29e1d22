//! Enums in JSON objects whose first member names the variant, read without keeping anything back.
//!
//! Invariant: what `Serialize` wrote with `tag = …` is read to the same value. serde would read such an object into a
//! tree first, because the tag may come anywhere; in what this program writes it comes first, and is required to.
//! Not known here: which enums these are.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error as _, IgnoredAny, MapAccess, VariantAccess, Visitor};
use serde::forward_to_deserialize_any;

/// Defines an enum that is written with a tag and read with the tag first.
macro_rules! tagged {
    ($(#[$meta:meta])* pub enum $name:ident as $twin:ident ($remote:literal), tag $tag:literal $body:tt) => {
        $(#[$meta])*
        #[derive(serde::Serialize)]
        #[serde(tag = $tag, rename_all = "snake_case")]
        pub enum $name $body

        /// The same enum, as serde reads it behind its tag.
        #[derive(serde::Deserialize)]
        #[serde(remote = $remote, rename_all = "snake_case")]
        #[allow(dead_code, reason = "serde makes values of the other one of it")]
        enum $twin $body

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $twin::deserialize($crate::tagged::TagFirst { tag: $tag, deserializer })
            }
        }
    };
}
pub(crate) use tagged;

/// Shows an object with its tag first as an enum.
pub(crate) struct TagFirst<D> {
    pub(crate) tag: &'static str,
    pub(crate) deserializer: D,
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for TagFirst<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.deserializer.deserialize_map(Tagged { tag: self.tag, visitor })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

struct Tagged<V> {
    tag: &'static str,
    visitor: V,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Tagged<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object that begins with `{}`", self.tag)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<V::Value, A::Error> {
        match map.next_key::<Name<'de>>()? {
            Some(Name(name)) if name == self.tag => {}
            _ => return Err(A::Error::custom(format_args!("`{}` does not come first", self.tag))),
        }
        let Name(variant) = map.next_value()?;
        self.visitor.visit_enum(Variant { variant: &variant, map })
    }
}

/// A text that is borrowed where that is possible.
struct Name<'de>(std::borrow::Cow<'de, str>);

impl<'de> serde::Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Name<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(text.into()))
            }

            fn visit_str<E>(self, text: &str) -> Result<Name<'de>, E> {
                Ok(Name(text.to_owned().into()))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

struct Variant<'v, A> {
    variant: &'v str,
    map: A,
}

impl<'de, A: MapAccess<'de>> EnumAccess<'de> for Variant<'_, A> {
    type Error = A::Error;
    type Variant = Members<A>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Members<A>), A::Error> {
        let name: StrDeserializer<'_, A::Error> = serde::de::IntoDeserializer::into_deserializer(self.variant);
        Ok((seed.deserialize(name)?, Members(self.map)))
    }
}

/// The members behind the tag.
struct Members<A>(A);

impl<'de, A: MapAccess<'de>> VariantAccess<'de> for Members<A> {
    type Error = A::Error;

    fn unit_variant(mut self) -> Result<(), A::Error> {
        while self.0.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, A::Error> {
        seed.deserialize(MapAccessDeserializer::new(self.0))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, A::Error> {
        Err(A::Error::custom("a tagged object has members, no list"))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, A::Error> {
        visitor.visit_map(self.0)
    }
}
