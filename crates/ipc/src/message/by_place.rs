//! Figures whose place says what they count, in the order of a list of words. Another version may know fewer words or
//! more of them: what it does not tell is zero, and what it tells beyond the list is left out.

use std::array;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};

/// Figures by one list of words.
pub(super) fn array<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default, const N: usize>(
    from: D,
) -> Result<[T; N], D::Error> {
    told(from).map(|(figures, _)| figures)
}

/// Figures by two lists of words.
pub(super) fn table<'de, D: Deserializer<'de>, T, const N: usize, const M: usize>(
    from: D,
) -> Result<[[T; M]; N], D::Error>
where
    T: Deserialize<'de> + Default,
{
    array(from).map(|rows: [FigureRow<T, M>; N]| rows.map(|row| row.0))
}

/// Figures that mean something else where another number of them is told; nothing then.
pub(super) fn exact<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default, const N: usize>(
    from: D,
) -> Result<Option<[T; N]>, D::Error> {
    told(from).map(|(figures, n_told)| (n_told == N).then_some(figures))
}

/// The figures, and how many were told.
fn told<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default, const N: usize>(
    from: D,
) -> Result<([T; N], usize), D::Error> {
    from.deserialize_tuple(N, FigurePlaces(PhantomData))
}

struct FigureRow<T, const M: usize>([T; M]);

impl<T: Default, const M: usize> Default for FigureRow<T, M> {
    fn default() -> Self {
        Self(array::from_fn(|_| T::default()))
    }
}

impl<'de, T: Deserialize<'de> + Default, const M: usize> Deserialize<'de> for FigureRow<T, M> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        array(from).map(Self)
    }
}

struct FigurePlaces<T, const N: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de> + Default, const N: usize> Visitor<'de> for FigurePlaces<T, N> {
    type Value = ([T; N], usize);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "figures by their places")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut figures: [T; N] = array::from_fn(|_| T::default());
        let mut n_told = 0;
        for place in &mut figures {
            let Some(figure) = seq.next_element()? else { return Ok((figures, n_told)) };
            *place = figure;
            n_told += 1;
        }
        while seq.next_element::<IgnoredAny>()?.is_some() {
            n_told += 1;
        }
        Ok((figures, n_told))
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize;

    use super::*;

    #[derive(Debug, Default, PartialEq, Eq, Serialize, serde::Deserialize)]
    #[serde(default)]
    struct Figures {
        #[serde(deserialize_with = "array")]
        once: [u64; 3],
        #[serde(deserialize_with = "table")]
        twice: [[u64; 2]; 2],
    }

    #[derive(Serialize)]
    struct Told {
        once: Vec<u64>,
        twice: Vec<Vec<u64>>,
    }

    #[track_caller]
    fn check(once: &[u64], twice: &[&[u64]], expected: &Figures) {
        let told = Told { once: once.to_vec(), twice: twice.iter().map(|row| row.to_vec()).collect() };
        let bytes = rmp_serde::to_vec_named(&told).unwrap();
        assert_eq!(rmp_serde::from_slice::<Figures>(&bytes).unwrap(), *expected);
    }

    #[test]
    fn other_versions_have_fewer_words_or_more() {
        check(&[1, 2, 3], &[&[4, 5], &[6, 7]], &Figures { once: [1, 2, 3], twice: [[4, 5], [6, 7]] });
        check(&[], &[], &Figures::default());
        check(&[1], &[&[4], &[]], &Figures { once: [1, 0, 0], twice: [[4, 0], [0, 0]] });
        let expected = Figures { once: [1, 2, 3], twice: [[4, 5], [6, 0]] };
        check(&[1, 2, 3, 8, 9], &[&[4, 5, 8], &[6], &[9, 9]], &expected);
    }

    #[test]
    fn processes_of_one_version_tell_all_in_few_bytes() {
        let figures = Figures { once: [1, 2, 3], twice: [[4, 5], [6, 7]] };
        let bytes = postcard::to_stdvec(&figures).unwrap();
        assert_eq!(bytes, [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(postcard::from_bytes::<Figures>(&bytes).unwrap(), figures);
        assert!(postcard::from_bytes::<Figures>(&bytes[..6]).is_err());
    }

    #[test]
    fn words_in_place_of_numbers_are_refused() {
        let bytes = rmp_serde::to_vec(&["many"]).unwrap();
        assert!(array::<_, u64, 3>(&mut rmp_serde::Deserializer::from_read_ref(&bytes)).is_err());
    }
}
